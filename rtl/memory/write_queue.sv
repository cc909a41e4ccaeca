// SPDX-License-Identifier: Apache-2.0
//
// write_queue: a FIFO for words, requests and completions on their way to memory.
//
// In:  s_data with s_valid/s_ready.
// Out: m_data with m_valid/m_ready, from a register after the RAM.
// Latency: 2 cycles; one entry a cycle.
// Parameters: WIDTH of an entry; DEPTH_LOG2, the RAM holds 2**DEPTH_LOG2 entries, one more waits in the register.
// s_ready comes directly from a register, so that a stall does not pass through the whole chain in one cycle.

module write_queue #(
    parameter WIDTH      = 64,
    parameter DEPTH_LOG2 = 4
) (
    input  logic             clk,
    input  logic             rst,
    input  logic [WIDTH-1:0] s_data,
    input  logic             s_valid,
    output logic             s_ready,
    output logic [WIDTH-1:0] m_data,
    output logic             m_valid,
    input  logic             m_ready
);

    logic [WIDTH-1:0]      ram [0:(1 << DEPTH_LOG2)-1];
    logic [DEPTH_LOG2-1:0] write_q, read_q;
    logic [DEPTH_LOG2:0]   n_stored_q;

    wire put  = s_valid && s_ready;
    wire take = n_stored_q != 0 && (!m_valid || m_ready);
    assign s_ready = !n_stored_q[DEPTH_LOG2];

    always @(posedge clk) if (put) ram[write_q] <= s_data;
    always @(posedge clk) if (take) m_data <= ram[read_q];

    always @(posedge clk) begin
        if (put) write_q <= write_q + 1'b1;
        if (take) read_q <= read_q + 1'b1;
        if (put && !take) n_stored_q <= n_stored_q + 1'b1;
        if (take && !put) n_stored_q <= n_stored_q - 1'b1;
        if (take) m_valid <= 1'b1;
        else if (m_ready) m_valid <= 1'b0;
        if (rst) begin
            write_q    <= 0;
            read_q     <= 0;
            n_stored_q <= 0;
            m_valid    <= 1'b0;
        end
    end
endmodule
