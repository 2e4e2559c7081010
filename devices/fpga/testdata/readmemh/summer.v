// Adds up a memory that a file fills; the input only says when.
// tandem: array go r uint8 s_axis
// tandem: array sum w uint32 m_axis
module summer #(parameter DEPTH = 4, parameter IMAGE = "ok.hex") (
  input wire aclk, input wire aresetn,
  input wire [7:0] s_axis_tdata, input wire s_axis_tvalid, output wire s_axis_tready, input wire s_axis_tlast,
  output reg [31:0] m_axis_tdata, output wire m_axis_tvalid, input wire m_axis_tready, output wire m_axis_tlast);
  reg [31:0] mem [0:DEPTH-1];
  reg [7:0] i;
  reg on;
  initial $readmemh(IMAGE, mem);
  assign s_axis_tready = aresetn && !on;
  assign m_axis_tvalid = on && i == DEPTH;
  assign m_axis_tlast = 1;
  always @(posedge aclk)
    if (!aresetn) begin
      m_axis_tdata <= 0; i <= 0; on <= 0;
    end else if (!on) on <= s_axis_tvalid;
    else if (i < DEPTH) begin
      m_axis_tdata <= m_axis_tdata + mem[i[1:0]];
      i <= i + 1;
    end
endmodule
