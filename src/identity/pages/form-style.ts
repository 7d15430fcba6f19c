/** Beside the style of plain pages: what forms and lists need. The colors have a contrast of more than 4.5:1 in both modes. */
export const FORM_STYLE = `
body{padding-top:10vh}
h2{font-size:1.125rem;margin:2rem 0 .5rem}
label{display:block;font-weight:600;margin-top:1rem}
input:not([type=hidden]){box-sizing:border-box;width:100%;font:inherit;padding:.55rem .75rem;margin-top:.35rem;border:1px solid light-dark(#6b6b6b,#9a9a9a);border-radius:.4rem;background:Field;color:FieldText}
.code{font-family:ui-monospace,monospace;letter-spacing:.15em;text-transform:uppercase}
.hint{font-size:.875rem;color:light-dark(#4a4a4a,#b8b8b8)}
.quiet{background:Canvas;color:CanvasText}
.small{padding:.25rem .75rem;margin-top:.35rem;font-size:.875rem}
form[aria-busy=true]{cursor:progress}
[role=alert]:not(:empty),[role=status]{margin-top:1rem;padding:.6rem .9rem;border-left:4px solid light-dark(#b3261e,#f2b8b5)}
[role=status]{border-left-color:light-dark(#146c2e,#6dd58c)}
ul.things{list-style:none;margin:0;padding:0}
ul.things>li{padding:.75rem 0;border-top:1px solid light-dark(#c8c8c8,#4a4a4a)}
ul.things>li:last-child{border-bottom:1px solid light-dark(#c8c8c8,#4a4a4a)}
.row{display:flex;flex-wrap:wrap;gap:.5rem;align-items:end}
.row input:not([type=hidden]){width:auto;flex:1 1 10rem;min-width:0}
.row label{flex:1 1 100%}
`;
