import { OPERATOR_REQUEST } from '../../bootstrap/bootstrap-port.ts';
import type { Config } from '../../config/schema.ts';
import { parseRoleRule } from '../../console/roles.ts';
import type { CompiledResource } from '../../documents/catalog.ts';
import { Documents } from '../../documents/documents.ts';
import type { DocumentsContext } from '../../documents/documents-context.ts';
import type { OperationPorts } from '../../documents/operations.ts';
import type { People } from '../../identity/people.ts';
import { USER_ACCOUNT_KIND } from '../../identity/people-records.ts';
import { PosternError } from '../../lib/errors.ts';
import type { Operation, OperationResult } from '../../resources/operation.ts';
import type { IdentityFacts } from '../../resources/resource.ts';
import { identityRoleRules } from './console-roles.ts';

const DAY_MS = 86_400_000;

export interface FirstAdministratorPorts {
  readonly config: Config;
  readonly context: DocumentsContext;
  readonly people: People;
  readonly identity: IdentityFacts;
  readonly ports: OperationPorts;
  readonly invite: Operation<OperationPorts>;
}

/**
 * A link with which somebody becomes the first administrator. Null: there is one, or no account of the identity host can be
 * one. An earlier link no longer works.
 */
export async function firstAdministratorLink(deps: FirstAdministratorPorts): Promise<string | null> {
  const { config, context, people, ports } = deps;
  const { console_oidc_issuer: issuer } = config;
  const identity: IdentityFacts = { ...deps.identity, invitationMs: DAY_MS, mail: () => null };
  if (issuer !== null && issuer !== identity.issuer) return null;
  const body = administrator(identityRoleRules(config), identity.hostname);
  if (body === null) return null;
  // Another node may have one already.
  await context.replica.refresh();
  if (people.hasAdministrator()) return null;
  const known = people.accountByEmail(body.email);
  if (known !== undefined) {
    // Somebody disabled the account, or took its group away.
    if (!people.isAdministrator(known.id)) return null;
    const request = { ...OPERATOR_REQUEST, params: { id: known.id }, body: {} };
    const result = await deps.invite.run(request, { ...ports, people: { ...ports.people, identity } });
    return linkIn(result);
  }
  const documents = new Documents({ ...context, settings: { ...context.settings, identity } });
  const compiled = context.catalog.compiled.get(USER_ACCOUNT_KIND) as CompiledResource;
  try {
    return linkIn(await documents.create(compiled, { ...OPERATOR_REQUEST, body }, null));
  } catch (error) {
    // Another node started at the same time, and has the link.
    if (error instanceof PosternError && error.code === 'ERR_POSTERN_ALREADY_EXISTS') return null;
    throw error;
  }
}

function linkIn({ body }: OperationResult): string | null {
  const link = body?.['invitation_url'];
  return typeof link === 'string' ? link : null;
}

/** An account that the rules make an administrator. */
function administrator(
  rules: readonly string[],
  hostname: string,
): { readonly email: string; readonly name: string; readonly groups: string[] } | null {
  const account = { email: `admin@${hostname}`, name: 'Administrator', groups: [] };
  for (const text of rules) {
    const rule = parseRoleRule(text);
    if (rule?.role !== 'admin') continue;
    if (rule.claim === 'groups') return { ...account, groups: [rule.value] };
    if (rule.claim === 'email') return { ...account, email: rule.value };
  }
  return null;
}
