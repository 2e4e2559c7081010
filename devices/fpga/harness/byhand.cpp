// The kernel multiply_add as a program of its own, clocked as the Verilator manual
// shows: what a person would write by hand. Prints million words per second, of the best round.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include "Vkernel.h"

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    const size_t n = strtoull(argv[1], nullptr, 10);
    const int rounds = atoi(argv[2]);
    VerilatedContext context;
    Vkernel m(&context);
    std::vector<uint32_t> x(n, 7);
    auto tick = [&] {
        m.aclk = 0;
        m.eval();
        m.aclk = 1;
        m.eval();
    };
    m.aresetn = 0;
    for (int i = 0; i < 5; ++i) tick();
    m.aresetn = 1;
    for (int i = 0; i < 2; ++i) {
        m.cfg_we = 1;
        m.cfg_addr = i;
        m.cfg_data = 3 + 2 * i;
        tick();
    }
    m.cfg_we = 0;
    double best = 0;
    for (int round = 0; round < rounds; ++round) {
        const auto begun = std::chrono::steady_clock::now();
        size_t in = 0, out = 0;
        m.m_axis_tready = 1;
        while (out < n) {
            m.s_axis_tvalid = in < n;
            if (in < n) {
                m.s_axis_tdata = x[in];
                m.s_axis_tlast = in == n - 1;
            }
            m.aclk = 0;
            m.eval();
            const bool takes = m.s_axis_tvalid && m.s_axis_tready;
            if (m.m_axis_tvalid) x[out++] = m.m_axis_tdata;
            m.aclk = 1;
            m.eval();
            in += takes;
        }
        const double s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
        if (n / s > best) best = n / s;
    }
    printf("%.3f\n", best / 1e6);
}
