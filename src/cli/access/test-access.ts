import { printable } from '../api/cell-text.ts';
import { Names } from '../names/names.ts';
import type { AccessCall } from './access-command.ts';
import { proposedRules } from './proposed-rules.ts';

const EXIT_NOT_ALLOWED = 4;

/** Prints the decision about a described requester. */
export async function testAccess(call: AccessCall): Promise<number> {
  const { transport, path, flags, claims, context } = call;
  const access = await proposedRules(call);
  const [email, account] = [flags.get('email'), flags.get('service-account')];
  const body = {
    ...(email !== undefined && { email }),
    ...(isOn(flags, 'unverified') && { email_verified: false }),
    ...(Object.keys(claims).length > 0 && { claims }),
    ...(account !== undefined && {
      service_account_id: await new Names(transport, context).idOfKinds(['service_account'], account),
    }),
    ...(isOn(flags, 'guest') && { guest: true }),
    ...(access !== null && { access }),
  };
  const { text } = await transport.send({ method: 'POST', path: `${path}/test`, body });
  const { allowed, message, paths_read_by: reader } = JSON.parse(text) as Tested;
  context.print(isOn(flags, 'json') ? text : `${allowed ? 'allowed' : 'refused'}: ${printable(message)}`);
  if (reader !== null && !isOn(flags, 'json'))
    context.print(`paths such as /a//b are rejected: ${printable(reader)} reads paths on this route`);
  return allowed ? 0 : EXIT_NOT_ALLOWED;
}

interface Tested {
  readonly allowed: boolean;
  readonly message: string;
  readonly paths_read_by: string | null;
}

function isOn(flags: ReadonlyMap<string, string>, name: string): boolean {
  return flags.get(name) === 'true';
}
