// verilator lint_off WIDTH
// How often each of the 256 byte values occurs. The counts are cleared while
// the kernel is in reset and after it, one in a cycle.
// tandem: kernel rtl.histogram
// tandem: doc how often each of the 256 values occurs
// tandem: array src r uint8 s_axis
// tandem: array bins w uint32 m_axis whole
module histogram(
  input wire aclk, input wire aresetn,
  input wire [7:0] s_axis_tdata, input wire s_axis_tvalid, output wire s_axis_tready, input wire s_axis_tlast,
  output reg [31:0] m_axis_tdata, output reg m_axis_tvalid, input wire m_axis_tready, output reg m_axis_tlast);
  reg [31:0] tally [0:255];
  reg [1:0] phase; // clear, count, settle, read
  reg [8:0] at;
  // A count is read in one cycle and written in the next.
  reg busy;
  reg [7:0] which;
  reg [31:0] old;
  wire count = s_axis_tvalid && s_axis_tready;
  wire go = !m_axis_tvalid || m_axis_tready;
  assign s_axis_tready = aresetn && phase == 1;
  wire [7:0] address = phase == 3 ? at[7:0] : s_axis_tdata;
  wire [31:0] found = busy && which == address ? old + 1 : tally[address];
  always @(posedge aclk)
    if (!aresetn) begin
      phase <= 0; at <= 0; busy <= 0; m_axis_tvalid <= 0; m_axis_tlast <= 0;
    end else begin
      busy <= count;
      if (count) begin
        which <= s_axis_tdata;
        old <= found;
      end
      case (phase)
        0: begin
          at <= at == 255 ? 0 : at + 1;
          if (at == 255) phase <= 1;
        end
        1: if (count && s_axis_tlast) phase <= 2;
        2: phase <= 3; // the last count is written
        3: if (go) begin
          m_axis_tvalid <= at != 256;
          m_axis_tlast <= at == 255;
          m_axis_tdata <= found;
          if (at != 256) at <= at + 1;
        end
      endcase
    end
  always @(posedge aclk)
    if (aresetn && phase == 0) tally[at[7:0]] <= 0;
    else if (busy) tally[which] <= old + 1;
endmodule
