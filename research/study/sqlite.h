// RAII wrappers of SQLite that return Status: connections and statements.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "broadloom/core/status.h"

struct sqlite3;
struct sqlite3_stmt;

namespace broadloom {

// One prepared statement. As in SQLite, parameters count from 1 and columns from 0.
class Statement {
 public:
  Statement() = default;
  // path: of the database, for messages.
  Statement(sqlite3_stmt* statement, std::string path);

  Statement& bind(int parameter, std::int64_t value);
  Statement& bind(int parameter, int value) { return bind(parameter, std::int64_t{value}); }
  Statement& bind(int parameter, double value);  // NaN becomes NULL
  Statement& bind(int parameter, std::string_view value);
  Statement& bind(int parameter, const char* value) {
    return bind(parameter, std::string_view(value));
  }
  Statement& bind(int parameter, const std::string& value) {
    return bind(parameter, std::string_view(value));
  }

  // Binds the parameters in order, beginning with the first.
  template <class... Values>
  Statement& bind_all(const Values&... values) {
    int parameter = 0;
    (bind(++parameter, values), ...);
    return *this;
  }

  // Whether there is another row. Read it before the next call.
  Result<bool> next();
  // Resets a statement whose rows were not all read, so that it can be bound again.
  void reset();
  // Runs a statement without rows and resets it.
  Status run();

  std::int64_t integer(int column) const;
  double real(int column) const;  // NULL: NaN
  std::string text(int column) const;

 private:
  struct Finalizer {
    void operator()(sqlite3_stmt* statement) const;
  };
  std::unique_ptr<sqlite3_stmt, Finalizer> statement_;
  std::string path_;
};

// kRead: nothing can be written, and messages speak of reading.
enum class Access { kWrite, kRead };

// The name that makes SQLite open a path as a file, even ":memory:" or "file:...".
std::string sqlite_name(const std::string& path);

class Database {
 public:
  Database() = default;

  // Opens an existing file; an empty file is an empty database. A commit returns once it is on the
  // disk. Not thread-safe. Functions in the file's schema cannot do harm. kNotFound or kIo;
  // kMismatch if the path is not a file.
  static Result<Database> open(const std::string& path, Access access = Access::kWrite);
  // A private empty database that ends with this value. Messages call it `path`.
  static Result<Database> make_private(const std::string& path);

  // Replaces all of it by a copy of the other, in one commit.
  Status replace_by(Database& other);

  Result<Statement> prepare(std::string_view sql);
  // Runs one or more statements without parameters; ignores rows.
  Status run(const std::string& sql);
  // The only number of a query's result.
  Result<std::int64_t> integer(std::string_view sql);
  Status begin();
  Status commit();
  // Undoes what was not committed, if anything.
  void rollback();

  // Whether the last begin() or commit() failed because another program holds a lock.
  bool busy() const { return busy_; }
  // The error of the last call, with advice: kIo, kCorrupt or kMismatch.
  Status error(const std::string& what) const;

 private:
  struct Closer {
    void operator()(sqlite3* connection) const;
  };
  static Result<Database> connect(const std::string& name, int flags, const std::string& path,
                                  Access access);

  std::unique_ptr<sqlite3, Closer> connection_;
  std::string path_;
  Access access_ = Access::kWrite;
  bool busy_ = false;
};

}  // namespace broadloom
