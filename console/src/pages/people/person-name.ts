import type { Document } from '../../api/use-pages.ts';
import { textAt } from '../../format/text.ts';

/** Of an account: people without a name have their address. */
export function personName(account: Document): string {
  return textAt(account, 'name') || textAt(account, 'email');
}
