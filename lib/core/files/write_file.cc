/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/files/write_file.h"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gr::adann::core {

namespace {

namespace fs = std::filesystem;

constexpr int longest_wait = 5000; // ms, for a reader of a FIFO to go on
constexpr int most_links = 40;     // as Linux follows in a path

[[noreturn]] void refuse(int error)
{
    throw std::runtime_error(std::generic_category().message(error));
}

// A descriptor that its destructor closes.
class descriptor
{
public:
    explicit descriptor(int number) : d_number(number) {}
    ~descriptor()
    {
        if (d_number >= 0)
            close(d_number);
    }
    descriptor(const descriptor&) = delete;
    descriptor& operator=(const descriptor&) = delete;

    operator int() const { return d_number; }

private:
    int d_number;
};

void write_all(int file, const std::string& bytes)
{
    for (std::size_t done = 0; done < bytes.size();) {
        const ssize_t n = write(file, bytes.data() + done, bytes.size() - done);
        if (n >= 0) {
            done += n;
        } else if (errno == EAGAIN) {
            pollfd reader{ file, POLLOUT, 0 };
            if (poll(&reader, 1, longest_wait) == 0)
                throw std::runtime_error("its reader does not read on");
        } else if (errno != EINTR) {
            refuse(errno);
        }
    }
}

void write_into(const std::string& path, const std::string& bytes)
{
    const descriptor file(
        open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (file < 0 && errno == ENXIO)
        throw std::runtime_error("no process reads from it");
    if (file < 0)
        refuse(errno);
    write_all(file, bytes);
}

// The target of a link, which need not exist yet.
fs::path followed(fs::path path)
{
    for (int links = 0; fs::is_symlink(fs::symlink_status(path)); ++links) {
        if (links == most_links)
            refuse(ELOOP);
        path = path.parent_path() / fs::read_symlink(path);
    }
    return path;
}

bool is_number(std::string_view text)
{
    return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

// Whether a file's name ends as writers name temporary files: their process, a count of them.
bool is_temporary(std::string_view ending)
{
    const std::size_t hyphen = ending.find('-');
    return hyphen != ending.npos && is_number(ending.substr(0, hyphen)) &&
           is_number(ending.substr(hyphen + 1));
}

// Has the rename last, and removes the temporary files that killed writers left: a file's
// writer holds a lock on it as long as it lives.
void finish_rename(const fs::path& target)
{
    const fs::path folder = target.has_parent_path() ? target.parent_path() : ".";
    if (const descriptor d(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        d >= 0)
        fsync(d);
    const std::string start = target.filename().string() + ".";
    std::error_code none;
    for (auto each = fs::directory_iterator(folder, none);
         !none && each != fs::directory_iterator();
         each.increment(none)) {
        const std::string name = each->path().filename().string();
        if (name.compare(0, start.size(), start) != 0 ||
            !is_temporary(name.substr(start.size())))
            continue;
        const descriptor d(open(each->path().c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
        if (d >= 0 && flock(d, LOCK_EX | LOCK_NB) == 0)
            unlink(each->path().c_str());
    }
}

void replace(const std::string& target, const std::string& bytes)
{
    // Not mkstemp(): that makes files for their owner only, and the process's umask
    // cannot be read without changing it under other threads' feet.
    static std::atomic<unsigned> files{ 0 };
    for (;;) {
        const std::string temporary =
            target + "." + std::to_string(getpid()) + "-" + std::to_string(files++);
        const descriptor file(
            open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
        if (file < 0 && errno == EEXIST)
            continue;
        if (file < 0)
            refuse(errno);
        // Where another writer took it for a stale one, before the lock said that it is
        // not, it is no more.
        flock(file, LOCK_EX);
        struct stat about;
        if (fstat(file, &about) != 0 || about.st_nlink == 0)
            continue;
        try {
            write_all(file, bytes);
            if (fsync(file) != 0 || std::rename(temporary.c_str(), target.c_str()) != 0)
                refuse(errno);
        } catch (...) {
            unlink(temporary.c_str());
            throw;
        }
        return finish_rename(target);
    }
}

} // namespace

void write_file(const std::string& path, const std::string& bytes)
{
    struct stat about;
    const bool exists = stat(path.c_str(), &about) == 0;
    if (exists && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode))
        return write_into(path, bytes);
    replace(followed(path), bytes);
}

} // namespace gr::adann::core
