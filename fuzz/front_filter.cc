/* A front filter from a changed checkpoint, on any floats: good samples come out finite.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "recordings.h"

#include "core/tracking/front_filter.h"

#include <cmath>

using namespace fuzz;

namespace {

constexpr std::size_t sps = 2, symbols = 3 * front_filter::block;

//! A receiver of an alphabet, and the state of a front filter that has followed a signal.
struct followed {
    explicit followed(bool complex)
        : behind(network({ complex ? 12u : 6u, 4, 4 }),
                 sps,
                 1,
                 complex,
                 complex ? "qpsk" : "pam4")
    {
        initialize(behind.net, 1);
        expected_waveform waveform(behind.symbols, sps, complex, 1, 1);
        const std::vector<float> affine(waveform.rows() * waveform.stride(), 0.3f);
        const std::vector<float> table(waveform.patterns() * waveform.stride(), 0.1f);
        waveform.set(affine, table, 0.2f);
        behind.set_waveform(waveform);
        front_filter_settings settings;
        settings.length = 2;
        settings.memories = { 64, 256, 4096 };
        front.emplace(behind, settings);
        net.emplace(behind.net, behind.window.stride());
        decides.emplace(behind.net);
        samples.resize(behind.window.stride() * symbols + front->dimension());
        gaussian_noise(1).fill(samples.data(), samples.size());
        follow(samples, true);
        state = saved();
    }

    tensor_file saved()
    {
        tensor_file file;
        archive members = archive::saving(file, "state");
        members("front", *front);
        return file;
    }
    void restore(tensor_file from)
    {
        archive members = archive::restoring(from, "state");
        members("front", *front);
    }

    //! \param good whether each sample is usable
    void follow(const std::vector<float>& from, bool good)
    {
        std::uint8_t labels[front_filter::block];
        for (std::size_t done = 0; done < symbols;) {
            const std::size_t n = std::min(front->left(), symbols - done);
            const feature_view seen =
                front->filter({ from.data() + done * behind.window.stride(),
                                behind.window.stride(),
                                front->dimension(),
                                n });
            for (std::size_t i = 0; good && i < seen.floats(); ++i)
                require(std::isfinite(seen.data[i]), "finite samples");
            decides->decide(*net, seen, labels);
            front->decided(labels, nullptr, n, *decides, *net);
            done += n;
        }
    }

    model behind;
    std::optional<front_filter> front;
    std::optional<prepared_network> net;
    std::optional<decider> decides;
    std::vector<float> samples;
    tensor_file state;
};

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size)
{
    static followed real(false), complex(true);
    static const front_filter fresh[] = { *real.front, *complex.front };
    input from(bytes, size);
    const bool which = from.flag();
    followed& receiver = which ? complex : real;
    *receiver.front = fresh[which];
    tensor_file changed = receiver.state;
    change(changed.tensors, from);
    try {
        receiver.restore(changed);
    } catch (const model_file_error&) {
        return 0;
    }
    if (from.flag())
        receiver.front->start();
    auto samples = receiver.samples;
    const auto given = from.rest<float>(samples.size());
    std::copy(given.begin(), given.end(), samples.begin());
    receiver.follow(samples, false);
    receiver.front->start();
    receiver.follow(receiver.samples, false);
    receiver.follow(receiver.samples, true);
    receiver.restore(receiver.saved());
    return 0;
}
