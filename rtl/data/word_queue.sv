// SPDX-License-Identifier: Apache-2.0
// A queue of 16 words with a registered output. The writer must not put a word into a full queue (n_inside).
// in:      put, put_word; take: the word shown is taken (ignored where none is)
// out:     is_there, word; n_inside: words inside, the one shown included
// latency: 2 cycles from put to is_there; a word a cycle
`default_nettype none
module word_queue #(
    parameter WIDTH = 66
) (
    input  wire             clk,
    input  wire             rst,
    input  wire             put,
    input  wire [WIDTH-1:0] put_word,
    output wire [4:0]       n_inside,
    output wire             is_there,
    output wire [WIDTH-1:0] word,
    input  wire             take
);
    reg [WIDTH-1:0] ram[0:15];
    reg [WIDTH-1:0] word_q;
    reg [4:0]       in_q, out_q;
    reg             is_there_q;
    wire            moves = (!is_there_q || take) && in_q != out_q;
    always @(posedge clk) begin
        if (put) ram[in_q[3:0]] <= put_word;
        if (moves) word_q <= ram[out_q[3:0]];
    end
    always @(posedge clk) begin
        if (put) in_q <= in_q + 5'd1;
        if (moves) out_q <= out_q + 5'd1;
        is_there_q <= moves || (is_there_q && !take);
        if (rst) begin
            in_q       <= 5'd0;
            out_q      <= 5'd0;
            is_there_q <= 1'b0;
        end
    end
    wire [4:0] n_queued = in_q - out_q;
    assign n_inside = n_queued + {4'd0, is_there_q};
    assign is_there = is_there_q;
    assign word = word_q;
endmodule
`default_nettype wire
