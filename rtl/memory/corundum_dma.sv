// SPDX-License-Identifier: Apache-2.0
//
// corundum_dma: example shell: memory_core's requests for a DMA interface like that of Corundum's application block.
//
// In:  q_*, d_*: requests with physical addresses and their words, from memory_core with PIECE_LOG2 = 12.
// Out: m_desc_*: write descriptors (PCIe address, address in a segment RAM, bytes, tag) and ram_*: the RAM's write port,
//      64 bit, to be put before the DMA engine's read port; record_done, completion_done, failed to memory_core.
// Latency: a request's descriptor leaves when its last word is in the RAM, so its bytes / 8 + 2 cycles.
// Linted, but not run with such a shell. The RAM holds 16 slots of 4 kB, one per tag; status may come in any order, and
// is reported to the core in the order of the requests, on which the core relies.

module corundum_dma (
    input  logic        clk,
    input  logic        rst,

    input  logic [63:0] q_address,
    input  logic [12:0] q_bytes,
    input  logic [1:0]  q_kind,
    input  logic        q_valid,
    output logic        q_ready,
    input  logic [63:0] d_data,
    input  logic        d_valid,
    output logic        d_ready,

    output logic        ram_write,
    output logic [12:0] ram_address,
    output logic [63:0] ram_data,

    output logic [63:0] m_desc_dma_addr,
    output logic [15:0] m_desc_ram_addr,
    output logic [15:0] m_desc_len,
    output logic [3:0]  m_desc_tag,
    output logic        m_desc_valid,
    input  logic        m_desc_ready,
    input  logic [3:0]  s_status_tag,
    input  logic [3:0]  s_status_error,
    input  logic        s_status_valid,

    output logic        record_done,
    output logic        completion_done,
    output logic        failed
);

    // Slots are taken and given back in order; `open` of them are on their way.
    logic [3:0]  head_q, tail_q;
    logic [4:0]  n_open_q;
    logic [15:0] done_q, error_q;
    logic [1:0]  kind_ram [0:15];
    logic        copy_q;
    logic [9:0]  words_left_q;
    logic [8:0]  word_q;
    logic [12:0] bytes_q;
    logic [63:0] address_q;

    wire [13:0] padded = {1'b0, q_bytes} + 14'd7;
    wire take   = q_valid && q_ready;
    wire finish = copy_q && words_left_q == 10'd0 && !m_desc_valid;
    wire retire = n_open_q != 5'd0 && done_q[tail_q];
    assign q_ready = !copy_q && !n_open_q[4];
    assign d_ready = copy_q && words_left_q != 10'd0;

    always @(posedge clk) if (take) kind_ram[head_q] <= q_kind;
    always @(posedge clk) begin
        ram_write   <= d_valid && d_ready;
        ram_address <= {head_q, word_q};
        ram_data    <= d_data;
        if (take) begin
            copy_q       <= 1'b1;
            address_q    <= q_address;
            bytes_q      <= q_bytes;
            words_left_q <= padded[12:3];
            word_q       <= 9'd0;
        end
        if (d_valid && d_ready) begin
            words_left_q <= words_left_q - 10'd1;
            word_q       <= word_q + 9'd1;
        end
        if (m_desc_ready) m_desc_valid <= 1'b0;
        if (finish) begin
            m_desc_dma_addr <= address_q;
            m_desc_ram_addr <= {head_q, 12'd0};
            m_desc_len      <= {3'd0, bytes_q};
            m_desc_tag      <= head_q;
            m_desc_valid    <= 1'b1;
            copy_q          <= 1'b0;
            head_q          <= head_q + 4'd1;
        end

        record_done     <= retire && kind_ram[tail_q] == 2'd1 && !rst;
        completion_done <= retire && kind_ram[tail_q] == 2'd2 && !rst;
        failed          <= retire && error_q[tail_q] && !rst;
        if (s_status_valid) begin
            done_q[s_status_tag]  <= 1'b1;
            error_q[s_status_tag] <= s_status_error != 4'd0;
        end
        if (retire) begin
            done_q[tail_q] <= 1'b0;
            tail_q         <= tail_q + 4'd1;
        end
        n_open_q <= n_open_q + {4'd0, finish} - {4'd0, retire};
        if (rst) begin
            copy_q       <= 1'b0;
            m_desc_valid <= 1'b0;
            head_q       <= 4'd0;
            tail_q       <= 4'd0;
            n_open_q     <= 5'd0;
            done_q       <= 16'd0;
        end
    end
endmodule
