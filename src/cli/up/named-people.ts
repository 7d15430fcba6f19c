import type { ParsedFlags } from '../../lib/flags.ts';
import { emailAddress } from '../../lib/text/email-address.ts';
import { peopleText } from '../../publish/people-rules.ts';
import { printable } from '../api/cell-text.ts';
import type { CommandContext } from '../command.ts';
import type { WantedUp } from './wanted-up.ts';

/**
 * The wish with the people whom the login lets in. A new login without named people admits everybody with an account: the
 * command says so before it starts anything. On a terminal it offers the owner's address, which --email has: nobody else
 * would have an account at first. --yes does not name people.
 */
export async function withNamedPeople(
  wanted: WantedUp,
  parsed: ParsedFlags,
  context: Pick<CommandContext, 'ask' | 'warn'>,
): Promise<WantedUp> {
  if (wanted.login !== 'own' || peopleText(wanted.people) !== null) return wanted;
  const address = emailAddress(parsed.flags.get('email') ?? '');
  const email = address?.isPlain === true ? address.text : undefined;
  if (email !== undefined && context.ask !== undefined) {
    const answer = await context.ask(printable(`Invite ${email}, and let in nobody else for now? [y/N] `));
    if (/^y(es)?$/i.test(answer.trim())) return { ...wanted, people: { ...wanted.people, emails: [email] } };
  }
  context.warn(
    printable(
      `postern: the login lets in everybody with an account of this server, and only those whom you invite get one. To let in named people only, add --allow-email ${email ?? 'ana@example.com'}`,
    ),
  );
  return wanted;
}
