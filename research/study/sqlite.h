// SQLite as values with a Status: connections and statements that close themselves.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "broadloom/core/status.h"

struct sqlite3;
struct sqlite3_stmt;

namespace broadloom {

// One prepared statement. Parameters and columns are numbered as SQLite does: from 1 and from 0.
class Statement {
 public:
  Statement() = default;
  // path: of the database, in messages.
  Statement(sqlite3_stmt* statement, std::string path);

  Statement& bind(int parameter, std::int64_t value);
  Statement& bind(int parameter, int value) { return bind(parameter, std::int64_t{value}); }
  Statement& bind(int parameter, double value);  // what is not a number becomes NULL
  Statement& bind(int parameter, std::string_view value);
  Statement& bind(int parameter, const char* value) {
    return bind(parameter, std::string_view(value));
  }
  Statement& bind(int parameter, const std::string& value) {
    return bind(parameter, std::string_view(value));
  }

  // The statement's parameters in their order, from the first.
  template <class... Values>
  Statement& bind_all(const Values&... values) {
    int parameter = 0;
    (bind(++parameter, values), ...);
    return *this;
  }

  // Whether there is a (further) row; to be read before the next call.
  Result<bool> next();
  // Makes a statement of which not all rows were read ready for other values.
  void reset();
  // Runs a statement that gives no rows, and makes it ready for other values.
  Status run();

  std::int64_t integer(int column) const;
  double real(int column) const;  // NULL: not a number
  std::string text(int column) const;

 private:
  struct Finalizer {
    void operator()(sqlite3_stmt* statement) const;
  };
  std::unique_ptr<sqlite3_stmt, Finalizer> statement_;
  std::string path_;
};

// What a database is opened for; with kRead nothing can be written, and messages speak of reading.
enum class Access { kWrite, kRead };

// The name by which SQLite takes a path for a file: it reads ":memory:" and "file:..." otherwise.
std::string sqlite_name(const std::string& path);

class Database {
 public:
  Database() = default;

  // Opens the file, which must exist; an empty one is an empty database. Every commit has reached
  // the disk when it returns. One thread at a time. Whoever made the file, what its schema says
  // runs no function that could do harm. kNotFound or kIo; kMismatch where it is no file.
  static Result<Database> open(const std::string& path, Access access = Access::kWrite);
  // An empty one that nobody else sees, and that ends with the value. `path` stands for it in
  // messages.
  static Result<Database> make_private(const std::string& path);

  // The bytes of its file, as a copy of it would hold them. kIo where there is no memory for them.
  Result<std::string> bytes() const;

  Result<Statement> prepare(std::string_view sql);
  // One or more statements without parameters; rows are dropped.
  Status run(const std::string& sql);
  // The one number that a query gives.
  Result<std::int64_t> integer(std::string_view sql);
  Status begin();
  Status commit();
  // Takes back what was not committed; does nothing where there is nothing.
  void rollback();

  // Whether the last begin() or commit() failed only because another program held a lock.
  bool busy() const { return busy_; }
  // A failure of the last call, with advice: kIo, kCorrupt or kMismatch.
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
