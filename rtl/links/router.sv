// SPDX-License-Identifier: Apache-2.0
//
// router: joins LINKS AXI-Streams into one, packet by packet, in turn.
//
// In:  LINKS streams (s_*), side by side. Out: one stream (m_*); m_link, the packet's link, constant in a packet.
// Latency: 3 cycles from the first word of a packet on an idle router (2 if the turn is at this link already); a word
//      a cycle, without a gap between packets of one link or of several.
// At the end of a packet, or while no packet passes, the turn moves to the next link in the ring that has a word
// waiting; so a link with a packet waits for at most one packet of each other link.
// Parameters: LINKS (1..8), DATA_BITS (64; tkeep has an eighth of it).

module router #(
    parameter LINKS     = 4,
    parameter DATA_BITS = 64
) (
    input  logic                         clk,
    input  logic                         rst,
    input  logic [LINKS*DATA_BITS-1:0]   s_tdata,
    input  logic [LINKS*DATA_BITS/8-1:0] s_tkeep,
    input  logic [LINKS-1:0]             s_tuser,
    input  logic [LINKS-1:0]             s_tlast,
    input  logic [LINKS-1:0]             s_tvalid,
    output logic [LINKS-1:0]             s_tready,
    output logic [DATA_BITS-1:0]         m_tdata,
    output logic [DATA_BITS/8-1:0]       m_tkeep,
    output logic                         m_tuser,
    output logic                         m_tlast,
    output logic [2:0]                   m_link,
    output logic                         m_tvalid,
    input  logic                         m_tready
);

    localparam KEEP  = DATA_BITS / 8;
    localparam WIDTH = DATA_BITS + KEEP + 2;
    localparam [LINKS-1:0] FIRST = 1;

    // Words after the registers of each link.
    wire [LINKS*WIDTH-1:0] words;
    wire [LINKS-1:0]       waiting, taken;
    genvar l;
    generate
        for (l = 0; l < LINKS; l = l + 1) begin : of_link
            axis_skid #(.WIDTH(WIDTH)) hold (
                .clk(clk), .rst(rst),
                .s_tdata({s_tlast[l], s_tuser[l], s_tkeep[l*KEEP+:KEEP], s_tdata[l*DATA_BITS+:DATA_BITS]}),
                .s_tvalid(s_tvalid[l]), .s_tready(s_tready[l]),
                .m_tdata(words[l*WIDTH+:WIDTH]), .m_tvalid(waiting[l]), .m_tready(taken[l])
            );
        end
    endgenerate

    // turn_q: one bit, the link whose packets pass; link_q its number.
    logic [LINKS-1:0] turn_q;
    logic [2:0]       link_q;
    logic             inside_q;
    logic [WIDTH-1:0] word;
    integer i;
    always @(*) begin
        word = {WIDTH{1'b0}};
        for (i = 0; i < LINKS; i = i + 1) word = word | (words[i*WIDTH+:WIDTH] & {WIDTH{turn_q[i]}});
    end

    wire has_room, moves;
    wire has_word = (waiting & turn_q) != {LINKS{1'b0}};
    assign moves = has_word && has_room;
    assign taken = turn_q & {LINKS{has_room}};

    // The next link in the ring: the lowest of those above the turn, or else the lowest of all.
    wire [LINKS-1:0] above  = waiting & ~(turn_q | (turn_q - FIRST));
    wire [LINKS-1:0] others = waiting & ~turn_q;
    wire [LINKS-1:0] from   = above != {LINKS{1'b0}} ? above : others;
    wire [LINKS-1:0] next   = from & (~from + FIRST);
    wire passes_on = others != {LINKS{1'b0}} && (moves ? word[WIDTH-1] : (!has_word && !inside_q));

    integer n;
    always_ff @(posedge clk) begin
        if (rst) begin
            turn_q   <= FIRST;
            link_q   <= 3'd0;
            inside_q <= 1'b0;
        end else begin
            if (moves) inside_q <= !word[WIDTH-1];
            if (passes_on) begin
                turn_q <= next;
                for (n = 0; n < LINKS; n = n + 1) if (next[n]) link_q <= n[2:0];
            end
        end
    end

    axis_skid #(.WIDTH(WIDTH + 3)) out (
        .clk(clk), .rst(rst), .s_tdata({link_q, word}), .s_tvalid(has_word), .s_tready(has_room),
        .m_tdata({m_link, m_tlast, m_tuser, m_tkeep, m_tdata}), .m_tvalid(m_tvalid), .m_tready(m_tready)
    );

endmodule
