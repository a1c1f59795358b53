#include "engine/gguf/file_descriptor.h"
#include "engine/gguf/gguf_file.h"
#include "engine/gguf/mapping_guard.h"

#include <sys/mman.h>
#include <unistd.h>

#include <fmt/format.h>

#include <cassert>
#include <cerrno>
#include <cstring>
#include <new>

namespace tokenscope {
namespace {

// The descriptor stays open, so that a later look at the size sees this file and not one that took its name.
struct MappedPart {
    FileDescriptor file;
    std::string name;
    const std::byte* data = nullptr;
    std::uint64_t bytes = 0;
    MappingGuard guard;
};

class PartsMapping : public GgufMapping {
public:
    PartsMapping() = default;
    PartsMapping(const PartsMapping&) = delete;
    PartsMapping& operator=(const PartsMapping&) = delete;

    ~PartsMapping() override
    {
        for (MappedPart& part : m_parts) {
            part.guard = {};  // before another mapping can take these addresses
            ::munmap(const_cast<std::byte*>(part.data), static_cast<std::size_t>(part.bytes));
        }
    }

    Result<void> add(const std::filesystem::path& path, const GgufFile::PartState& expected)
    {
        auto file = FileDescriptor::open(path);
        if (!file)
            return tl::unexpected(file.error());
        const auto state = file->state();
        if (!state)
            return tl::unexpected(state.error());
        const std::string name = path.filename().string();
        if (state->bytes != expected.bytes)
            return fail(ErrorCode::FileAccess, "{} had {} bytes when it was opened and has {} now; load it again", name,
                        expected.bytes, state->bytes);
        if (state->modifiedNs != expected.modifiedNs)
            return fail(ErrorCode::FileAccess, "{} ({} bytes) was written to since it was opened; load it again", name,
                        state->bytes);
        void* data = ::mmap(nullptr, static_cast<std::size_t>(state->bytes), PROT_READ, MAP_PRIVATE, file->fd(), 0);
        if (data == MAP_FAILED)
            return fail(errno == ENOMEM ? ErrorCode::OutOfMemory : ErrorCode::FileAccess,
                        "{}: mapping its {} bytes failed: {}; {}", name, state->bytes, std::strerror(errno),
                        errno == ENOMEM ? "raise the limit of address space (ulimit -v) or end other programs"
                                        : "copy the file to a local disk, whose files can be mapped");
        const auto* begin = static_cast<const std::byte*>(data);
        m_parts.push_back({std::move(*file), name, begin, state->bytes, MappingGuard(begin, state->bytes)});
        return {};
    }

    void reserve(std::size_t parts) { m_parts.reserve(parts); }

    std::span<const std::byte> tensorBytes(const GgufTensor& tensor) const override
    {
        const MappedPart& part = partOf(tensor);
        return {part.data + tensor.fileOffset, static_cast<std::size_t>(tensor.bytes)};
    }

    void release(const GgufTensor& tensor) const override
    {
        const MappedPart& part = partOf(tensor);
        // Whole pages, also those shared with a neighbour: they are read again from the page cache if needed.
        static const std::uint64_t pageBytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
        const std::uint64_t from = tensor.fileOffset / pageBytes * pageBytes;
        ::madvise(const_cast<std::byte*>(part.data) + from,
                  static_cast<std::size_t>(tensor.fileOffset + tensor.bytes - from), MADV_DONTNEED);
    }

    Result<void> checkUnchanged() const override
    {
        for (const MappedPart& part : m_parts) {
            const auto state = part.file.state();
            if (!state)
                return tl::unexpected(state.error());
            if (state->bytes < part.bytes)
                return fail(ErrorCode::FileAccess,

                            "{} shrank from {} to {} bytes while it was being read; load it again when it is complete",
                            part.name, part.bytes, state->bytes);
            if (part.guard.wasHit())
                return fail(ErrorCode::FileAccess,
                            "{} ({} bytes) could not be read to its end: it was changed meanwhile or its disk "
                            "fails; load it again",
                            part.name, part.bytes);
        }
        return {};
    }

private:
    const MappedPart& partOf(const GgufTensor& tensor) const
    {
        const MappedPart& part = m_parts[static_cast<std::size_t>(tensor.part)];
        assert(tensor.fileOffset <= part.bytes && tensor.bytes <= part.bytes - tensor.fileOffset);
        return part;
    }

    std::vector<MappedPart> m_parts;
};

}  // namespace

Result<std::unique_ptr<GgufMapping>> GgufFile::map() const
{
    try {
        auto mapping = std::make_unique<PartsMapping>();
        mapping->reserve(parts.size());
        for (std::size_t i = 0; i < parts.size(); ++i)
            if (auto ok = mapping->add(parts[i], partStates[i]); !ok)
                return tl::unexpected(ok.error());
        return std::unique_ptr<GgufMapping>(std::move(mapping));
    } catch (const std::bad_alloc&) {
        return fail(ErrorCode::OutOfMemory, path.filename().string() + ": no memory is left to map the file");
    }
}

}  // namespace tokenscope
