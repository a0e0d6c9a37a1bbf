#include "research/study/sqlite.h"

#include <fmt/core.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <utility>

#include "broadloom/core/errno_advice.h"

namespace broadloom {
namespace {

constexpr int kBusyMilliseconds = 2000;

constexpr const char* kGoOn =
    "; then run the same command again, which keeps all runs that the store has";

// Exceeding a file size limit, or some quotas, appears as a plain write error.
bool no_room(int extended_code) {
  return extended_code == SQLITE_FULL || extended_code == SQLITE_IOERR_WRITE;
}

// The system's error of a failed write. SQLite has its own code for a full disk, and may have lost
// other errors: of these we take a file size limit, whose advice names a full disk, too.
int write_error(int extended_code, int error) {
  if (extended_code == SQLITE_FULL) return ENOSPC;
  return error == 0 ? EFBIG : error;
}

constexpr const char* kReadable = "name the .sqlite file that `broadloom study` wrote";

// SQLite's message, with the system's error if there is one.
std::string error_text(sqlite3* connection) {
  const int code = sqlite3_errcode(connection) & 0xff;
  const int error = sqlite3_system_errno(connection);
  const bool has_system_error = code == SQLITE_IOERR || code == SQLITE_CANTOPEN;
  const char* words = sqlite3_errmsg(connection);
  return has_system_error && error != 0 ? fmt::format("{} ({})", words, std::strerror(error))
                                        : words;
}

// Advice about a failure; "" if there is none beyond SQLite's message.
std::string advice(sqlite3* connection, Access access) {
  const int code = sqlite3_errcode(connection) & 0xff;
  const int error = sqlite3_system_errno(connection);
  const int extended = sqlite3_extended_errcode(connection);
  if (no_room(extended)) {
    const std::string words = advice_on_errno(write_error(extended, error));
    return words.empty() ? "" : words + kGoOn;
  }
  if (code == SQLITE_BUSY || code == SQLITE_LOCKED) {
    return std::string("; another program holds its lock: end that program") +
           (access == Access::kRead ? ", or try again" : kGoOn);
  }
  if (error == ENOENT) return std::string("; ") + kReadable;
  if (code != SQLITE_READONLY && code != SQLITE_PERM && error != EACCES && error != EROFS)
    return "";
  return access == Access::kRead ? "; ask for permission to read it, or name a copy"
                                 : "; name a place with --out that you may write to";
}

Status sqlite_error(sqlite3* connection, const std::string& path, const std::string& what,
                    Access access) {
  const int code = sqlite3_errcode(connection) & 0xff;
  if (code == SQLITE_NOTADB) {
    return {ErrorKind::kMismatch,
            fmt::format("'{}' is not the store of a study: it is not an SQLite database; {}", path,
                        access == Access::kRead ? kReadable : "name another file")};
  }
  const std::string message = fmt::format("cannot {} '{}': {}", what, path, error_text(connection));
  // Only rows of another store violate constraints.
  if (code == SQLITE_CONSTRAINT) {
    return {ErrorKind::kCorrupt, message + "; the new rows contradict the stored ones"};
  }
  // The program's statements are correct, so such an error means missing tables. A file that may be
  // written and is read-only to SQLite has a damaged header.
  if (code == SQLITE_CORRUPT || code == SQLITE_ERROR ||
      (code == SQLITE_READONLY && ::access(path.c_str(), W_OK) == 0)) {
    return {ErrorKind::kCorrupt,
            message +
                "; the store is damaged: restore a copy of it, or run the study again into "
                "another file"};
  }
  const bool is_missing = sqlite3_system_errno(connection) == ENOENT;
  return {is_missing ? ErrorKind::kNotFound : ErrorKind::kIo, message + advice(connection, access)};
}

}  // namespace

void Statement::Finalizer::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

Statement::Statement(sqlite3_stmt* statement, std::string path)
    : statement_(statement), path_(std::move(path)) {}

Statement& Statement::bind(int parameter, std::int64_t value) {
  sqlite3_bind_int64(statement_.get(), parameter, value);
  return *this;
}

Statement& Statement::bind(int parameter, double value) {
  if (std::isnan(value)) {
    sqlite3_bind_null(statement_.get(), parameter);
  } else {
    sqlite3_bind_double(statement_.get(), parameter, value);
  }
  return *this;
}

Statement& Statement::bind(int parameter, std::string_view value) {
  sqlite3_bind_text64(statement_.get(), parameter, value.data(), value.size(), SQLITE_TRANSIENT,
                      SQLITE_UTF8);
  return *this;
}

Result<bool> Statement::next() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  sqlite3* connection = sqlite3_db_handle(statement_.get());
  const bool reads = sqlite3_stmt_readonly(statement_.get()) != 0;
  return sqlite_error(connection, path_, reads ? "read" : "write",
                      reads ? Access::kRead : Access::kWrite);
}

void Statement::reset() {
  sqlite3_reset(statement_.get());
  sqlite3_clear_bindings(statement_.get());
}

Status Statement::run() {
  Status status = next().status();
  reset();
  return status;
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

double Statement::real(int column) const {
  if (sqlite3_column_type(statement_.get(), column) == SQLITE_NULL) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  return sqlite3_column_double(statement_.get(), column);
}

std::string Statement::text(int column) const {
  const auto* bytes = sqlite3_column_text(statement_.get(), column);
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return bytes == nullptr ? "" : std::string(reinterpret_cast<const char*>(bytes), size);
}

void Database::Closer::operator()(sqlite3* connection) const { sqlite3_close_v2(connection); }

std::string sqlite_name(const std::string& path) {
  return path.starts_with('/') ? path : "./" + path;
}

Result<Database> Database::open(const std::string& path, Access access) {
  std::error_code ignored;
  const bool is_there = std::filesystem::exists(path, ignored);
  if (is_there && !std::filesystem::is_regular_file(path, ignored)) {
    return Status(ErrorKind::kMismatch,
                  fmt::format("'{}' is {}; expected the store of a study: {}", path,
                              std::filesystem::is_directory(path, ignored) ? "a folder"
                                                                           : "not a regular file",
                              access == Access::kRead ? kReadable : "name a file, as in a.sqlite"));
  }
  return connect(sqlite_name(path), SQLITE_OPEN_READWRITE, path, access);
}

Result<Database> Database::make_private(const std::string& path) {
  return connect("", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, path, Access::kWrite);
}

Result<Database> Database::connect(const std::string& name, int flags, const std::string& path,
                                   Access access) {
  Database database;
  database.access_ = access;
  sqlite3* connection = nullptr;
  const int code =
      sqlite3_open_v2(name.c_str(), &connection, flags | SQLITE_OPEN_FULLMUTEX, nullptr);
  database.connection_.reset(connection);
  database.path_ = path;
  if (code != SQLITE_OK) return database.error("open");
  sqlite3_extended_result_codes(connection, 1);
  sqlite3_busy_timeout(connection, kBusyMilliseconds);
  // The store may come from a stranger: its views and triggers may call only harmless functions,
  // and no statement writes past the tables.
  sqlite3_db_config(connection, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  // The rollback journal exists only during a commit; at other times the store is one file. EXTRA
  // also syncs the journal's removal, which is the commit. Without spilling, the file is locked
  // against readers only during a commit.
  BROADLOOM_TRY(
      database.run("PRAGMA foreign_keys = ON; PRAGMA synchronous = EXTRA; PRAGMA cache_spill = OFF;"
                   "PRAGMA cell_size_check = ON"));
  if (access == Access::kRead) BROADLOOM_TRY(database.run("PRAGMA query_only = ON"));
  return database;
}

Status Database::replace_by(Database& other) {
  sqlite3_backup* copy =
      sqlite3_backup_init(connection_.get(), "main", other.connection_.get(), "main");
  if (copy == nullptr) return error("write");
  // By its documentation, SQLite's finish need not report a step that found a lock.
  const bool is_done = sqlite3_backup_step(copy, -1) == SQLITE_DONE;
  sqlite3_backup_finish(copy);
  return is_done ? Status() : error("write");
}

Result<Statement> Database::prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v2(connection_.get(), sql.data(), static_cast<int>(sql.size()),
                                      &statement, nullptr);
  if (code != SQLITE_OK) return error("read");
  return Statement(statement, path_);
}

Status Database::run(const std::string& sql) {
  const int code = sqlite3_exec(connection_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  busy_ = (code & 0xff) == SQLITE_BUSY;
  return code == SQLITE_OK ? Status() : error(access_ == Access::kRead ? "read" : "write");
}

Result<std::int64_t> Database::integer(std::string_view sql) {
  Result<Statement> statement = prepare(sql);
  if (!statement.ok()) return statement.status();
  const Result<bool> row = statement.value().next();
  if (!row.ok()) return row.status();
  return row.value() ? statement.value().integer(0) : 0;
}

Status Database::begin() { return run("BEGIN IMMEDIATE"); }

Status Database::commit() { return run("COMMIT"); }

void Database::rollback() {
  // SQLite rolls back by itself after some failures.
  if (connection_ == nullptr || sqlite3_get_autocommit(connection_.get()) != 0) return;
  sqlite3_exec(connection_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
}

Status Database::error(const std::string& what) const {
  return sqlite_error(connection_.get(), path_, what, access_);
}

}  // namespace broadloom
