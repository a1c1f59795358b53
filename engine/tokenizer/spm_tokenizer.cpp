#include "engine/tokenizer/spm_tokenizer.h"

#include "engine/base/utf8.h"

#include <algorithm>

namespace tokenscope {
namespace {

constexpr std::string_view kSpaceMark = "\xE2\x96\x81";  // ▁

std::string unescape(std::string_view text)
{
    std::string out;
    for (std::size_t mark = text.find(kSpaceMark); mark != std::string_view::npos; mark = text.find(kSpaceMark)) {
        out.append(text.substr(0, mark)) += ' ';
        text.remove_prefix(mark + kSpaceMark.size());
    }
    return out.append(text);
}

}  // namespace

// Like the words of byte-level BPE, with ranges of the text in place of ids.
struct SpmTokenizer::Symbols {
    struct Symbol {
        std::size_t start = 0;
        std::size_t bytes = 0;  // 0: merged into its left neighbour
        std::int32_t previous = -1;
        std::int32_t next = -1;
    };
    struct Candidate {
        float score = 0;
        std::int32_t left = 0;
        std::size_t bytes = 0;
        // Highest score first, then leftmost.
        bool operator<(const Candidate& other) const
        {
            return score != other.score ? score < other.score : left > other.left;
        }
    };
    const Vocabulary& vocabulary;
    std::string_view text = {};
    std::vector<Symbol> list = {};
    std::vector<Candidate> heap = {};

    void propose(std::int32_t left)
    {
        if (left < 0 || list[left].next < 0)
            return;
        const std::size_t bytes = list[left].bytes + list[list[left].next].bytes;
        if (bytes > vocabulary.longestTextBytes())
            return;
        if (const auto id = vocabulary.findMergeable(text.substr(list[left].start, bytes))) {
            heap.push_back({vocabulary.scores()[*id], left, bytes});
            std::push_heap(heap.begin(), heap.end());
        }
    }

    void mergeAll()
    {
        heap.clear();
        for (std::int32_t i = 0; i < static_cast<std::int32_t>(list.size()); ++i)
            propose(i);
        while (!heap.empty()) {
            std::pop_heap(heap.begin(), heap.end());
            const Candidate best = heap.back();
            heap.pop_back();
            Symbol& left = list[best.left];
            if (left.bytes == 0 || left.next < 0)
                continue;
            Symbol& right = list[left.next];
            if (left.bytes + right.bytes != best.bytes)
                continue;  // one of the two has merged elsewhere since
            left.bytes = best.bytes;
            right.bytes = 0;
            left.next = right.next;
            if (left.next >= 0)
                list[left.next].previous = best.left;
            propose(left.previous);
            propose(best.left);
        }
    }
};

SpmTokenizer::SpmTokenizer(Vocabulary vocabulary) : VocabularyTokenizer(std::move(vocabulary), true, true)
{
    for (TokenId id = 0; id < this->vocabulary().size(); ++id) {
        const std::string_view text = this->vocabulary().text(id);
        for (std::size_t mark = text.find(kSpaceMark); mark != std::string_view::npos;
             mark = text.find(kSpaceMark, mark + 1)) {
            if (mark > 0 && !text.substr(0, mark).ends_with(kSpaceMark))
                m_joinsSpaceMark[static_cast<unsigned char>(text[mark - 1])] = true;
        }
    }
}

// Where no token holds a "▁" behind the byte that stands here, nothing can merge across: cutting there changes no id,
// and a page of text is many short merges in place of one long one (6 times as fast).
bool SpmTokenizer::mayCutBeforeSpace(std::string_view escaped) const
{
    return !escaped.empty() && !escaped.ends_with(kSpaceMark) &&
           !m_joinsSpaceMark[static_cast<unsigned char>(escaped.back())];
}

// "▁" typed by a user would come back as a space, so it goes byte by byte.
void SpmTokenizer::encodePiece(std::string_view piece, bool opensText, EncodedText& out) const
{
    Symbols symbols{vocabulary()};
    std::string escaped;
    if (opensText && addsSpacePrefix())
        escaped = kSpaceMark;
    for (std::size_t i = 0; i < piece.size(); ++i) {
        if (piece.substr(i).starts_with(kSpaceMark)) {
            encodeEscaped(escaped, symbols, out);
            escaped.clear();
            encodeBytes(kSpaceMark, out);
            i += kSpaceMark.size() - 1;
        } else if (piece[i] == ' ') {
            if (mayCutBeforeSpace(escaped)) {
                encodeEscaped(escaped, symbols, out);
                escaped.clear();
            }
            escaped += kSpaceMark;
        } else {
            escaped += piece[i];
        }
    }
    encodeEscaped(escaped, symbols, out);
}

void SpmTokenizer::encodeEscaped(std::string_view escaped, Symbols& symbols, EncodedText& out) const
{
    symbols.text = escaped;
    symbols.list.clear();
    for (std::size_t i = 0; i < escaped.size();) {
        const std::size_t bytes = nextUtf8(escaped, i).bytes;
        const auto index = static_cast<std::int32_t>(symbols.list.size());
        symbols.list.push_back({i, bytes, index - 1, i + bytes < escaped.size() ? index + 1 : -1});
        i += bytes;
    }
    symbols.mergeAll();
    for (std::int32_t i = symbols.list.empty() ? -1 : 0; i >= 0; i = symbols.list[i].next) {
        const std::string_view text = escaped.substr(symbols.list[i].start, symbols.list[i].bytes);
        if (const auto id = vocabulary().findMergeable(text))
            out.ids.push_back(*id);
        else
            encodeBytes(text == kSpaceMark ? " " : text, out);
    }
}

void SpmTokenizer::encodeBytes(std::string_view bytes, EncodedText& out) const
{
    for (const char byte : bytes) {
        if (const auto id = vocabulary().byteToken(static_cast<unsigned char>(byte)))
            out.ids.push_back(*id);
        else
            ++out.droppedBytes;
    }
}

std::string SpmTokenizer::textBytes(TokenId id) const
{
    return unescape(vocabulary().text(id));
}

}  // namespace tokenscope
