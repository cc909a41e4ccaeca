// SPDX-License-Identifier: Apache-2.0
// The earliest of up to 8 heads, by a tree of comparisons with a register at each level.
// in:      valid, times (42 bits each: ticks and fine time, compared as differences, so that they may wrap)
// out:     first_valid, first_time, first_board: of equal times the lowest board
// latency: ceil(log2(BOARDS)) cycles, at least 1; one set of heads a cycle
`default_nettype none
module head_tree #(
    parameter BOARDS = 4
) (
    input  wire                 clk,
    input  wire [BOARDS-1:0]    valid,
    input  wire [42*BOARDS-1:0] times,
    output wire                 first_valid,
    output wire [41:0]          first_time,
    output wire [2:0]           first_board
);
    localparam LEVELS = BOARDS <= 2 ? 1 : BOARDS <= 4 ? 2 : 3;
    localparam LEAVES = 1 << LEVELS;
    // Node 1 is the root, node n has the children 2n and 2n + 1, leaves are LEAVES to 2 * LEAVES - 1.
    wire [2*LEAVES-1:0]  node_valid;
    wire [84*LEAVES-1:0] node_time;
    wire [6*LEAVES-1:0]  node_board;
    assign node_valid[0] = 1'b0;
    assign node_time[41:0] = 42'd0;
    assign node_board[2:0] = 3'd0;
    genvar n;
    generate
        for (n = 0; n < LEAVES; n = n + 1) begin : of_leaf
            assign node_valid[LEAVES + n] = n < BOARDS ? valid[n < BOARDS ? n : 0] : 1'b0;
            assign node_time[42*(LEAVES + n) +: 42] = n < BOARDS ? times[42*(n < BOARDS ? n : 0) +: 42] : 42'd0;
            assign node_board[3*(LEAVES + n) +: 3] = n;
        end
        for (n = 1; n < LEAVES; n = n + 1) begin : of_node
            wire [41:0] left = node_time[42*(2*n) +: 42];
            wire [41:0] right = node_time[42*(2*n + 1) +: 42];
            wire [41:0] apart = right - left;
            wire        is_right = node_valid[2*n + 1] && (!node_valid[2*n] || apart[41]);
            reg         valid_q;
            reg  [41:0] time_q;
            reg  [2:0]  board_q;
            always @(posedge clk) begin
                valid_q <= node_valid[2*n] || node_valid[2*n + 1];
                time_q  <= is_right ? right : left;
                board_q <= is_right ? node_board[3*(2*n + 1) +: 3] : node_board[3*(2*n) +: 3];
            end
            assign node_valid[n] = valid_q;
            assign node_time[42*n +: 42] = time_q;
            assign node_board[3*n +: 3] = board_q;
        end
    endgenerate
    assign first_valid = node_valid[1];
    assign first_time = node_time[83:42];
    assign first_board = node_board[5:3];
endmodule
`default_nettype wire
