import Type from 'typebox';
import type { JsonObject } from '../../lib/json.ts';
import { secret } from '../../lib/schema/annotations.ts';
import type { AcceptedForm, AgentForm } from '../contract/agent-form.ts';

export const basicAuthAgentForm: AgentForm = {
  order: 1.7,
  key: 'basic_auth',
  shape: 'list',
  protocols: ['https'],
  tlsReason: 'a password requires TLS',
  fields: [
    {
      name: 'credentials',
      example: '["name:password"]',
      isRepeated: true,
      isNeeded: true,
      rule: 'credentials',
      flag: {
        name: 'basic-auth',
        hint: 'NAME:PASSWORD',
        description: 'Require this user name and password, of at least 8 characters.',
      },
    },
  ],
  whenEmpty: 'basic_auth has no users: write name:password, or remove it',
  summary: ['passwords'],
};

/** As the flag has them: the first colon ends the name. */
export const basicAuthAgentSchema = Type.Object({
  credentials: secret(
    'hashed',
    Type.Array(Type.String({ minLength: 1, maxLength: 600 }), {
      minItems: 1,
      maxItems: 20,
      description:
        'Users, each as NAME:PASSWORD: the first colon ends the name, and the password has at least 8 characters.',
    }),
    'nowhere',
  ),
});

/** Messages do not repeat what was sent, which has the password. */
export function acceptBasicAuthForm({ credentials }: JsonObject): AcceptedForm | { readonly problem: string } {
  const users = (credentials as readonly string[]).map((each) => {
    const colon = each.indexOf(':');
    return { username: each.slice(0, Math.max(0, colon)), password: each.slice(colon + 1) };
  });
  const wrong = users.findIndex(({ username, password }) => username === '' || password === '');
  if (wrong !== -1) return { problem: `user ${wrong + 1} must be written as name:password` };
  const config = { enabled: true, options_passthrough: false, users, realm: 'Restricted' };
  return { config, records: [] };
}
