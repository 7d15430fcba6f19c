import { randomInt } from 'node:crypto';

/** Without letters and digits that look alike, and without U, so that few words appear. */
const ALPHABET = 'ABCDEFGHJKMNPQRSTVWXYZ23456789';
const LENGTH = 8;

/** Eight characters: one of 656 billion. */
export function newCode(): string {
  return Array.from({ length: LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
}

/** As people read it: in two groups. */
function shownCode(code: string): string {
  return `${code.slice(0, LENGTH / 2)}-${code.slice(LENGTH / 2)}`;
}

/** What a person typed: in any case, with spaces or dashes. */
export function typedCode(text: string): string {
  return text.toUpperCase().replace(/[^A-Z0-9]/g, '');
}

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
