import type { Static } from 'typebox';
import Type from 'typebox';
import type { JsonObject } from '../../kit/json.ts';
import { isAddressClaim } from '../../kit/text/email-address.ts';
import type { AcceptedForm, AgentForm } from '../contract/agent-form.ts';
import type { AccessConfig, Rule } from './access-config.ts';

const texts = (maxLength: number, description: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength }), { default: [], maxItems: 100, description });

/**
 * In the bind message: lists instead of rules, which neither a flag nor a line of YAML can express. `forward_bearer` is
 * not among them: the agent's service could collect tokens that are valid elsewhere.
 */
export const accessAgentSchema = Type.Object({
  enforce: Type.Boolean({ default: true, description: 'false: the rules are rehearsed, and everybody passes.' }),
  allow_emails: texts(320, 'Email addresses of people who may enter.'),
  allow_email_domains: texts(255, 'Domains of email addresses of people who may enter, without their subdomains.'),
  allow_groups: texts(256, 'Groups (claim "groups") whose members may enter.'),
  allow_claims: texts(1280, 'Claims of people who may enter, each as NAME=VALUE.'),
  allow_service_accounts: texts(64, 'Ids of service accounts that may enter.'),
  deny_emails: texts(320, 'Email addresses of people who may not enter, whatever the other lists say.'),
  deny_email_domains: texts(
    255,
    'Domains of email addresses of people who may not enter, whatever the other lists say.',
  ),
  deny_claims: texts(1280, 'Claims of people who may not enter, each as NAME=VALUE, whatever the other lists say.'),
  bearer_issuer: Type.String({
    default: '',
    maxLength: 2048,
    description: 'Issuer of tokens (JWT) of programs that may enter. Needs bearer_audiences and bearer_claims.',
  }),
  bearer_audiences: texts(1024, 'Audiences of such a token: it must have one of them.'),
  bearer_claims: texts(1280, 'Claims of such a token, each as NAME=VALUE.'),
});

export const accessAgentForm: AgentForm = {
  order: 5,
  group: 'entry',
  key: 'access',
  shape: 'map',
  protocols: ['https'],
  tlsReason: 'login requires TLS',
  fields: [
    {
      name: 'allow_emails',
      example: 'ana@example.com',
      flag: { name: 'allow-email', hint: 'EMAIL', description: 'Let in the person with this address.' },
    },
    {
      name: 'allow_email_domains',
      example: 'example.com',
      flag: {
        name: 'allow-email-domain',
        hint: 'DOMAIN',
        description: 'Let in people with an address of this domain.',
      },
    },
    {
      name: 'allow_groups',
      example: 'ops',
      flag: { name: 'allow-groups', hint: 'GROUP', description: 'Let in members of this group.' },
    },
    {
      name: 'allow_claims',
      example: 'groups=ops',
      flag: { name: 'allow-claim', hint: 'NAME=VALUE', description: 'Let in people with this claim.' },
    },
    { name: 'allow_service_accounts', example: 'sa_…' },
    {
      name: 'deny_emails',
      example: 'former@example.com',
      flag: { name: 'deny-email', hint: 'EMAIL', description: 'Keep out the person with this address.' },
    },
    { name: 'deny_email_domains', example: 'example.net' },
    { name: 'deny_claims', example: 'groups=contractors' },
    { name: 'bearer_issuer', example: 'https://token.ci.example.com' },
    { name: 'bearer_audiences', example: 'postern' },
    { name: 'bearer_claims', example: 'repository=acme/app' },
    { name: 'enforce', example: 'false' },
  ],
  whenEmpty: 'access has no rules: write allow_emails, allow_email_domains, allow_groups or allow_claims, or remove it',
  summary: [
    'access by {allow_emails}',
    'access by {allow_email_domains}',
    'access by {allow_groups}',
    'access by {allow_claims}',
  ],
};

/** Each value of an agent's lists is a rule of its own: one of them lets in, one of them keeps out. */
export function agentRules(form: JsonObject): AcceptedForm | { readonly problem: string } {
  // The server has decoded the form by its schema.
  const lists = form as Static<typeof accessAgentSchema>;
  const { bearer_issuer: issuer, bearer_audiences: audiences } = lists;
  const written = [...lists.allow_claims, ...lists.deny_claims, ...lists.bearer_claims].find((each) => !isClaim(each));
  if (written !== undefined) return { problem: `${JSON.stringify(written)} is no claim: write NAME=VALUE` };
  const address = addressProblem(lists);
  if (address !== null) return { problem: address };
  const isBearerComplete = issuer !== '' && audiences.length > 0 && lists.bearer_claims.length > 0;
  const hasBearer = issuer !== '' || audiences.length > 0 || lists.bearer_claims.length > 0;
  if (hasBearer && !isBearerComplete) {
    return { problem: 'bearer_issuer, bearer_audiences and bearer_claims need each other: write all of them or none' };
  }
  const config: AccessConfig = {
    enabled: true,
    enforce: lists.enforce,
    allow: [
      ...rulesOf(lists.allow_emails, lists.allow_email_domains, lists.allow_claims),
      ...(lists.allow_groups.length > 0 ? [{ claims: { groups: lists.allow_groups } }] : []),
      ...(lists.allow_service_accounts.length > 0 ? [{ service_accounts: lists.allow_service_accounts }] : []),
    ],
    deny: rulesOf(lists.deny_emails, lists.deny_email_domains, lists.deny_claims),
    bearer: isBearerComplete ? [{ issuer, audiences, claims: claimsOf(lists.bearer_claims) }] : [],
    forward_bearer: false,
  };
  return { config: config as unknown as JsonObject, records: [] };
}

/** In the names of the agent's form: the check of the rules names rules, which the agent's user has not written. */
function addressProblem(lists: Static<typeof accessAgentSchema>): string | null {
  for (const [list, remedy] of Object.entries(ADDRESS_REMEDIES) as [keyof typeof ADDRESS_REMEDIES, string][]) {
    const found = Object.entries(claimsOf(lists[list])).find(([name, values]) => isAddressClaim(name, values));
    if (found !== undefined)
      return `${list} has "${found[0]}", which may be an address that the provider has not verified: use ${remedy}`;
  }
  return null;
}

const ADDRESS_REMEDIES = {
  allow_claims: 'allow_emails (--allow-email) or allow_email_domains (--allow-email-domain)',
  deny_claims: 'deny_emails (--deny-email) or deny_email_domains',
  bearer_claims: 'a claim that the issuer itself sets, such as sub',
} as const;

function rulesOf(emails: string[], domains: string[], claims: readonly string[]): Rule[] {
  return [
    ...(emails.length > 0 ? [{ emails }] : []),
    ...(domains.length > 0 ? [{ email_domains: domains }] : []),
    ...Object.entries(claimsOf(claims)).map(([name, values]) => ({ claims: Object.fromEntries([[name, values]]) })),
  ];
}

/** The value follows the last sign: a name may be a URL with a query. */
function claimsOf(written: readonly string[]): Record<string, string[]> {
  const claims = new Map<string, string[]>();
  for (const each of written) {
    const sign = each.lastIndexOf('=');
    const name = each.slice(0, sign);
    claims.set(name, [...(claims.get(name) ?? []), each.slice(sign + 1)]);
  }
  return Object.fromEntries(claims);
}

function isClaim(written: string): boolean {
  return written.lastIndexOf('=') > 0;
}
