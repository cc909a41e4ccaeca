// SPDX-License-Identifier: Apache-2.0
//
// axi4_writer: write requests and their data -> AXI4 write channels, one ID, bursts of 8-byte beats.
//
// In:  s_*: physical address (a multiple of 8), bytes (at most 2048, not across 4 kB), kind; d_*: their data, in the
//      order of the requests, each beginning with a new word.
// Out: AW, W, B; record_done and completion_done: a request of kind 1 (a record's last) or 2 (a completion) was
//      acknowledged, and with it all before it, as B comes in order where there is one ID; failed: with an error.
// Latency: 1 cycle to AW, 2 to W; W has no gap between bursts while data are there. Parameter: 2**OPEN_LOG2
// requests may wait for B.

module axi4_writer #(
    parameter OPEN_LOG2 = 5
) (
    input  logic        clk,
    input  logic        rst,

    input  logic [63:0] s_address,
    input  logic [11:0] s_bytes,
    input  logic [1:0]  s_kind,
    input  logic        s_valid,
    output logic        s_ready,
    input  logic [63:0] d_data,
    input  logic        d_valid,
    output logic        d_ready,

    output logic [63:0] m_axi_awaddr,
    output logic [7:0]  m_axi_awlen,
    output logic [2:0]  m_axi_awsize,
    output logic [1:0]  m_axi_awburst,
    output logic        m_axi_awvalid,
    input  logic        m_axi_awready,
    output logic [63:0] m_axi_wdata,
    output logic [7:0]  m_axi_wstrb,
    output logic        m_axi_wlast,
    output logic        m_axi_wvalid,
    input  logic        m_axi_wready,
    input  logic [1:0]  m_axi_bresp,
    input  logic        m_axi_bvalid,
    output logic        m_axi_bready,

    output logic        record_done,
    output logic        completion_done,
    output logic        failed
);

    wire [11:0] last_beat = s_bytes - 12'd1;  // last byte of the burst; its bits 11..3 are the number of the last beat

    wire        burst_room, kind_room, aw_room;
    wire        accept = s_valid && s_ready;
    assign aw_room = !m_axi_awvalid || m_axi_awready;
    assign s_ready = aw_room && burst_room && kind_room;

    assign m_axi_awsize  = 3'd3;
    assign m_axi_awburst = 2'd1;
    always @(posedge clk) begin
        if (accept) begin
            m_axi_awaddr  <= s_address;
            m_axi_awlen   <= last_beat[10:3];
            m_axi_awvalid <= 1'b1;
        end else if (m_axi_awready) m_axi_awvalid <= 1'b0;
        if (rst) m_axi_awvalid <= 1'b0;
    end

    wire [7:0] burst_last;
    wire [2:0] burst_end;
    wire       burst_valid;
    logic [7:0] beat_q;
    wire       is_last = beat_q == burst_last;
    wire       w_room  = !m_axi_wvalid || m_axi_wready;
    assign d_ready = burst_valid && w_room;
    wire       beat    = d_valid && d_ready;

    write_queue #(.WIDTH(11), .DEPTH_LOG2(3)) bursts (
        .clk(clk), .rst(rst), .s_data({last_beat[10:3], last_beat[2:0]}), .s_valid(accept), .s_ready(burst_room),
        .m_data({burst_last, burst_end}), .m_valid(burst_valid), .m_ready(beat && is_last)
    );

    always @(posedge clk) begin
        if (beat) begin
            m_axi_wdata  <= d_data;
            m_axi_wlast  <= is_last;
            m_axi_wstrb  <= is_last ? 8'hff >> (3'd7 - burst_end) : 8'hff;
            m_axi_wvalid <= 1'b1;
            beat_q       <= is_last ? 8'd0 : beat_q + 8'd1;
        end else if (m_axi_wready) m_axi_wvalid <= 1'b0;
        if (rst) begin
            m_axi_wvalid <= 1'b0;
            beat_q       <= 8'd0;
        end
    end

    // Kinds wait in order for their B.
    wire [1:0] kind;
    wire       kind_valid;
    assign m_axi_bready = kind_valid;
    write_queue #(.WIDTH(2), .DEPTH_LOG2(OPEN_LOG2)) kinds (
        .clk(clk), .rst(rst), .s_data(s_kind), .s_valid(accept), .s_ready(kind_room),
        .m_data(kind), .m_valid(kind_valid), .m_ready(m_axi_bvalid)
    );
    always @(posedge clk) begin
        record_done     <= m_axi_bvalid && kind_valid && kind == 2'd1 && !rst;
        completion_done <= m_axi_bvalid && kind_valid && kind == 2'd2 && !rst;
        failed          <= m_axi_bvalid && kind_valid && m_axi_bresp[1] && !rst;
    end
endmodule
