import { printable } from '../api/cell-text.ts';
import type { CommandContext } from '../command.ts';

export interface Invited {
  readonly invitation_url: string;
  readonly invitation_sent_to: string | null;
}

/** Where the link went; the link itself if it was not mailed, or somebody asks for it. */
export function showInvitation(
  who: string,
  { invitation_url: url, invitation_sent_to: sentTo }: Invited,
  { isPrinted, context }: { readonly isPrinted: boolean; readonly context: CommandContext },
): void {
  if (sentTo !== null) {
    context.warn(`The invitation is on its way to ${printable(sentTo)}.`);
    if (!isPrinted) return;
  } else {
    context.warn(`Send ${printable(who)} this link. It works once, for the first who opens it:`);
  }
  context.print(printable(url));
}
