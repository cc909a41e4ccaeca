// SPDX-License-Identifier: Apache-2.0
// Counts merged fragments, and hits in merged records, several of which may come in one cycle.
// in:      n_merged: fragments of the event sent in this cycle; m_*: the words of merged records (event_emit.sv)
// out:     fragments, hits: modulo 2^32
// latency: 2 cycles
`default_nettype none
module merge_sums #(
    parameter BOARDS = 4
) (
    input  wire        clk,
    input  wire        rst,
    input  wire [3:0]  n_merged,
    input  wire [63:0] m_tdata,
    input  wire        m_taken,
    input  wire        m_tlast,
    output wire [31:0] fragments,
    output wire [31:0] hits
);
    reg [31:0] fragments_q, hits_q;
    reg [9:0]  more_q;
    reg [3:0]  n_merged_q;
    reg [2:0]  at_q;  // word of the record; 4: any word after those with counts
    wire       has_counts = at_q == 3'd1 || (BOARDS > 4 && at_q == 3'd3);
    always @(posedge clk) begin
        n_merged_q  <= n_merged;
        fragments_q <= fragments_q + {28'd0, n_merged_q};
        more_q      <= 10'd0;
        if (m_taken && has_counts)
            more_q <= {2'd0, m_tdata[7:0]} + {2'd0, m_tdata[15:8]} + {2'd0, m_tdata[23:16]} + {2'd0, m_tdata[31:24]};
        hits_q <= hits_q + {22'd0, more_q};
        if (m_taken) at_q <= m_tlast ? 3'd0 : at_q == 3'd4 ? at_q : at_q + 3'd1;
        if (rst) begin
            n_merged_q  <= 4'd0;
            fragments_q <= 32'd0;
            hits_q      <= 32'd0;
            more_q      <= 10'd0;
            at_q        <= 3'd0;
        end
    end
    assign fragments = fragments_q;
    assign hits = hits_q;
endmodule
`default_nettype wire
