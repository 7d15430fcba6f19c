import Type from 'typebox';
import type { AgentForm } from '../contract/agent-form.ts';

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
