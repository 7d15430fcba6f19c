import { shownCode } from '../../lib/text/typed-code.ts';

/** It names the host and no link: people type the code where they asked for it. */
export function codeMail({ hostname, code }: { readonly hostname: string; readonly code: string }): {
  readonly subject: string;
  readonly text: string;
} {
  return {
    subject: `Your code for ${hostname}`,
    text: `Your code for ${hostname} is

    ${shownCode(code)}

Enter it on the page on which you asked for it, within ten minutes. It works once, in that browser only.

Nobody will ever ask you for this code by telephone, chat or mail. If you did not ask for it, ignore this message.
`,
  };
}
