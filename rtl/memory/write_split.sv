// SPDX-License-Identifier: Apache-2.0
//
// write_split: cuts a write request into pieces that never cross a multiple of 2**PIECE_LOG2 bytes.
//
// In:  s_address (virtual), s_bytes (1 to 65535), s_kind (what its acknowledgement means: see axi4_writer.sv).
// Out: m_address, m_bytes, m_kind; the kind goes with the last piece, those before it have kind 0.
// Latency: 2 cycles; then a piece a cycle, and one cycle between requests.
// Parameters: PIECE_LOG2 at most 12: PCIe and AXI4 forbid a request across 4 kB, and 11 is what AXI4 can say at
// 8 bytes a beat (256 beats). Pieces end at multiples, so all but the first of a request begin aligned.

module write_split #(
    parameter PIECE_LOG2 = 12
) (
    input  logic                clk,
    input  logic                rst,
    input  logic [47:0]         s_address,
    input  logic [15:0]         s_bytes,
    input  logic [1:0]          s_kind,
    input  logic                s_valid,
    output logic                s_ready,
    output logic [47:0]         m_address,
    output logic [PIECE_LOG2:0] m_bytes,
    output logic [1:0]          m_kind,
    output logic                m_valid,
    input  logic                m_ready
);

    localparam [16:0] PIECE = 17'd1 << PIECE_LOG2;

    logic [47:0] address_q;
    logic [15:0] left_q;
    logic [1:0]  kind_q;
    logic        busy_q;

    wire [16:0] room    = PIECE - {{(17 - PIECE_LOG2){1'b0}}, address_q[PIECE_LOG2-1:0]};
    wire [16:0] left    = {1'b0, left_q};
    wire        is_last = left <= room;
    wire [16:0] bytes   = is_last ? left : room;
    wire [16:0] rest    = left - room;
    wire        put     = busy_q && (!m_valid || m_ready);
    assign s_ready = !busy_q;

    always @(posedge clk) begin
        if (put) begin
            m_address <= address_q;
            m_bytes   <= bytes[PIECE_LOG2:0];
            m_kind    <= is_last ? kind_q : 2'd0;
            m_valid   <= 1'b1;
            address_q <= {address_q[47:PIECE_LOG2] + 1'b1, {PIECE_LOG2{1'b0}}};
            left_q    <= rest[15:0];
            busy_q    <= !is_last;
        end else if (m_ready) m_valid <= 1'b0;
        if (s_valid && s_ready) begin
            address_q <= s_address;
            left_q    <= s_bytes;
            kind_q    <= s_kind;
            busy_q    <= 1'b1;
        end
        if (rst) begin
            busy_q  <= 1'b0;
            m_valid <= 1'b0;
        end
    end
endmodule
