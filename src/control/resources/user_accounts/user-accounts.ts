import type { Static } from 'typebox';
import Type from 'typebox';
import type { JsonObject } from '../../../kit/json.ts';
import { bodyProblem } from '../../../kit/schema/decode-body.ts';
import type { FieldProblem } from '../../../kit/schema/field-problem.ts';
import { emailAddress } from '../../../kit/text/email-address.ts';
import {
  accountClaims,
  emailKey,
  type Invitation,
  invitationOf,
  lastLoginOf,
  newInvitation,
  PASSKEY_KIND,
  PASSKEY_USE_KIND,
  USER_ACCOUNT_KIND,
  USER_ACCOUNT_USE_KIND,
  USER_INVITATION_KIND,
  useId,
} from '../../identity/people-records.ts';
import type { MissingScope } from '../errors.ts';
import type { Principal } from '../operation.ts';
import type { ReadingPorts } from '../ports.ts';
import {
  type CreatePorts,
  type Creation,
  defineResource,
  describedFields,
  type LiveFields,
  type ResourceSettings,
} from '../resource.ts';
import { coversScope, coversScopes } from '../scopes.ts';
import { accountActions, identityOf, invitationMail, invitationsOf, keyOf, loggedOut } from './account-actions.ts';

const ALL = { beforeId: null, limit: Number.MAX_SAFE_INTEGER };

const accountUse: LiveFields<ReadingPorts> = {
  schema: {
    last_login_at: Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
      description: 'When the person last logged in at the identity host; null if never.',
    }),
    passkey_count: Type.Integer({ description: 'Number of passkeys of the person.', examples: [2] }),
  },
  read: (records, ports) => Promise.resolve(new Map(records.map(({ id }) => [id, fieldsOf(id, ports)]))),
};

function fieldsOf(id: string, { documents: { reader } }: ReadingPorts): JsonObject {
  return {
    last_login_at: lastLoginOf(reader.get(USER_ACCOUNT_USE_KIND, useId(id))),
    passkey_count: reader.pageOfParent(PASSKEY_KIND, id, ALL).length,
  };
}

interface Manageable {
  readonly email: string;
  readonly name: string;
  readonly groups: readonly string[];
}

/** Scopes that the person has in the console. */
function scopesIn(
  account: Manageable,
  id: string | null,
  settings: Pick<ResourceSettings, 'consoleScopesOf'>,
): readonly string[] {
  return settings.consoleScopesOf(accountClaims({ ...account, id: id ?? '' }));
}

/** Whether these scopes are all that the person has in the console. */
function coversPerson(
  scopes: readonly string[],
  account: Manageable,
  id: string,
  settings: Pick<ResourceSettings, 'consoleScopesOf'>,
): boolean {
  return coversScopes(scopes, scopesIn(account, id, settings));
}

/** Whether the change gives the person more in the console. */
function isPromotion(
  next: Manageable,
  previous: Manageable,
  id: string,
  settings: Pick<ResourceSettings, 'consoleScopesOf'>,
): boolean {
  return !coversPerson(scopesIn(previous, id, settings), next, id, settings);
}

/**
 * A scope that the caller lacks and the person has in the console, before or after the change: a caller who can invite
 * a person can be that person. A disabled account counts as if it were active.
 */
function beyondCaller(
  { scopes }: Principal,
  versions: readonly (Manageable | null)[],
  id: string | null,
  settings: Pick<ResourceSettings, 'consoleScopesOf'>,
): MissingScope | null {
  const wanted = versions.flatMap((account) => (account === null ? [] : scopesIn(account, id, settings)));
  const scope = wanted.find((each) => !coversScope(scopes, each));
  if (scope === undefined) return null;
  return {
    scope,
    message: `this API key lacks the scope "${scope}", which the person has in the console, before or after this change or if a pending change is reverted: use a key that has it`,
  };
}

const config = Type.Object({
  ...describedFields,
  email: Type.String({
    minLength: 3,
    maxLength: 254,
    description:
      'E-mail address of the person. Two accounts cannot have the same one; capitals make no difference. A change ends the invitation, which went to the earlier address: invite the person again. Applications get it as verified, because only administrators change it.',
  }),
  name: Type.String({ default: '', maxLength: 255, description: 'Full name of the person. Default: "".' }),
  groups: Type.Array(Type.String({ minLength: 1, maxLength: 128 }), {
    default: [],
    maxItems: 100,
    description:
      'Groups of the person, which access rules and the setting console_roles name. A change reaches logins that exist within a second.',
  }),
  active: Type.Boolean({
    default: true,
    description:
      'Whether the person can log in. False ends all their logins within a second, and their invitation. Default: true.',
  }),
});
type UserAccountConfig = Static<typeof config>;

/** People who log in at the identity host. */
export const userAccounts = defineResource({
  isNeverRestored: true,
  derivedKinds: [PASSKEY_KIND, PASSKEY_USE_KIND, USER_INVITATION_KIND, USER_ACCOUNT_USE_KIND],
  name: 'user_accounts',
  kind: USER_ACCOUNT_KIND,
  idPrefix: 'ua',
  path: '/user_accounts',
  listKey: 'user_accounts',
  title: 'a user account',
  description:
    'A person who logs in at the identity host with a passkey. The response to the create has a link with which the person registers the first one; if mail is set up, the person also gets it by mail. Deleting the account ends all logins of the person within a second, and cannot be undone. A key or person cannot manage people whose role in the console has scopes that it lacks, or would have them again if a pending change is reverted. A change that gives the person more in the console ends their logins, and the invitation if its maker could not give that.',
  eventNoun: 'user_account',
  otherEvents: {
    invited: 'A person got a new invitation link.',
    signed_out: 'All logins of a person were ended.',
  },
  config,
  live: accountUse,
  actions: accountActions,
  shownOnce: {
    invitation_url: Type.String({
      description: 'The link for the person. Only this response shows it.',
      examples: ['https://id.example.com/invitation?invite=postern_ui_EXAMPLEexampleEXAMPLEexample'],
    }),
    invitation_sent_to: Type.Union([Type.String(), Type.Null()], {
      description: 'Address that gets the link by mail; null if no mail is sent. Only this response shows it.',
      examples: ['ana@example.com'],
    }),
  },
  example: { email: 'ana@example.com', name: 'Ana Ortega', groups: ['ops'] },
  check: ({ email, name, groups }) => [...emailProblems(email), ...nameProblems(name), ...groupProblems(groups)],
  authorize: (principal, next, previous, { id, settings }) => beyondCaller(principal, [next, previous], id, settings),
  narrowable: ['groups', 'active'],
  isRevocation: (next, previous) => next === null || isLess(next, previous),
  ends: (next, previous, { id, reader, settings }) => {
    const { identity } = settings;
    // The store deletes the invitation with the account.
    if (next === null) return loggedOut(id, { reader, identity }, { keepsLink: true });
    if (previous.active && !next.active) return loggedOut(id, { reader, identity });
    // The link was sent to the earlier address, where somebody else may read it.
    const isSameAddress = emailKey(next.email).key === emailKey(previous.email).key;
    // Somebody who got in with fewer rights must not have more now: the person proves again who they are.
    if (isPromotion(next, previous, id, settings)) {
      const isGood = ({ inviter_scopes: scopes }: Invitation): boolean => coversPerson(scopes, next, id, settings);
      const keepsLink = isSameAddress && invitationsOf(id, reader).every((record) => isGood(invitationOf(record)));
      return loggedOut(id, { reader, identity }, { keepsLink });
    }
    return isSameAddress ? {} : { deletes: invitationsOf(id, reader).map(keyOf) };
  },
  onCreate: create,
  uniqueKeys: ({ email }) => [{ ...emailKey(email), field: 'email' }],
});

function create(
  account: UserAccountConfig,
  ports: CreatePorts,
): Creation | { readonly problems: readonly FieldProblem[] } {
  if (!account.active)
    return { problems: [bodyProblem('active', 'must be true in a create, which invites the person')] };
  const identity = identityOf(ports.settings);
  const { issuer, invitationMs: lifetimeMs } = identity;
  const invitation = newInvitation(ports.id, ports.principal, { ...ports, issuer, lifetimeMs });
  const mail = identity.mail(invitationMail(account, invitation, identity));
  return {
    beside: { puts: [invitation.put, ...(mail === null ? [] : [mail])] },
    shownOnce: { invitation_url: invitation.url, invitation_sent_to: mail === null ? null : account.email },
  };
}

/** As access rules need it: an address that every reader understands the same way. */
function emailProblems(email: string): readonly FieldProblem[] {
  return emailAddress(email)?.isPlain === true
    ? []
    : [bodyProblem('email', 'must be one e-mail address, such as "ana@example.com"')];
}

/** The name stands in mails and on pages, so it must not begin a line there or reverse the text around it. */
function nameProblems(name: string): readonly FieldProblem[] {
  return /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u.test(name)
    ? [bodyProblem('name', 'must be one line, without control characters: letters of any script are fine')]
    : [];
}

function groupProblems(groups: readonly string[]): readonly FieldProblem[] {
  const odd = groups.find((group) => group.trim() !== group || /[,\p{Cc}]/u.test(group));
  if (odd !== undefined) {
    return [bodyProblem('groups', `lists "${odd}": a group has no comma, and no space at its ends`)];
  }
  const repeated = groups.find((group, at) => groups.indexOf(group) !== at);
  return repeated === undefined ? [] : [bodyProblem('groups', `lists "${repeated}" twice: list each group once`)];
}

/** Whether it only takes rights away. */
function isLess(account: UserAccountConfig, previous: UserAccountConfig): boolean {
  const [groups, before] = [new Set(account.groups), new Set(previous.groups)];
  const isOnlyLess = (previous.active || !account.active) && groups.isSubsetOf(before);
  return isOnlyLess && (account.active !== previous.active || groups.size < before.size);
}
