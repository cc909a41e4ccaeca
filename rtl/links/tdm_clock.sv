// SPDX-License-Identifier: Apache-2.0
//
// tdm_clock: a counter that runs in step with the sender's clock counter.
//
// In:  clock_valid, clock_value: what a frame carried; offset: cycles from the sender's frame_start to one cycle after
//      clock_valid, constant by construction of the link, so measured once and kept.
// Out: counter, each cycle; is_locked, the last values agreed; error: pulse, a value did not (ignored while locked, until
//      three in a row disagree: then the counter is set anew).
// Latency: 3 cycles from clock_valid to the counter being set.

module tdm_clock (
    input  logic        clk,
    input  logic        rst,
    input  logic        clock_valid,
    input  logic [63:0] clock_value,
    input  logic [15:0] offset,
    output logic [63:0] counter,
    output logic        is_locked,
    output logic        error
);

    logic [63:0] counter_q, now_q, set_q;
    logic        now_valid_q, checked_q, agrees_q, is_locked_q, error_q;
    logic [1:0]  n_wrong_q;
    wire         is_third = n_wrong_q == 2'd2;

    always_ff @(posedge clk) begin
        now_valid_q <= clock_valid;
        now_q       <= clock_value + {48'd0, offset};
        checked_q   <= now_valid_q;
        agrees_q    <= now_q == counter_q;
        set_q       <= now_q + 64'd2;
        error_q     <= 1'b0;
        counter_q   <= counter_q + 64'd1;
        if (rst) begin
            counter_q   <= 64'd0;
            is_locked_q <= 1'b0;
            n_wrong_q   <= 2'd0;
            checked_q   <= 1'b0;
            now_valid_q <= 1'b0;
        end else if (checked_q && agrees_q) begin
            is_locked_q <= 1'b1;
            n_wrong_q   <= 2'd0;
        end else if (checked_q) begin
            error_q   <= is_locked_q;
            n_wrong_q <= n_wrong_q + 2'd1;
            if (!is_locked_q || is_third) begin
                counter_q   <= set_q;
                is_locked_q <= 1'b0;
                n_wrong_q   <= 2'd0;
            end
        end
    end

    assign counter   = counter_q;
    assign is_locked = is_locked_q;
    assign error     = error_q;

endmodule
