// SPDX-License-Identifier: Apache-2.0
//
// link_counts: counters of a link, 32 bits each; they wrap.
//
// In:  steps, two bits a counter: how much it grows in this cycle.
// Out: counts, counter i in bits 32 * i and up.
// Latency: 2 cycles.
// Parameters: N, counters.

module link_counts #(
    parameter N = 8
) (
    input  logic            clk,
    input  logic            rst,
    input  logic [2*N-1:0]  steps,
    output logic [32*N-1:0] counts
);

    logic [2*N-1:0]  steps_q;
    logic [32*N-1:0] counts_q;
    integer i;

    always_ff @(posedge clk) begin
        steps_q <= rst ? {2 * N{1'b0}} : steps;
        for (i = 0; i < N; i = i + 1)
            counts_q[32*i+:32] <= rst ? 32'd0 : counts_q[32*i+:32] + {30'd0, steps_q[2*i+:2]};
    end

    assign counts = counts_q;

endmodule
