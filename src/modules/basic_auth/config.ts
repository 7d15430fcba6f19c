import Type, { type Static } from 'typebox';
import { MAX_PASSWORD, MIN_PASSWORD } from '../../lib/net/field-rules.ts';
import { secret } from '../../lib/schema/annotations.ts';
import type { FieldProblem } from '../../lib/schema/field-problem.ts';
import { enabledField } from '../contract/module.ts';
import { isCredentialText } from './basic-credentials.ts';

const MAX_USERS = 20;
const MAX_NAME = 128;

export const basicAuthConfig = Type.Object({
  enabled: enabledField,
  options_passthrough: Type.Boolean({
    default: false,
    description: 'Allow OPTIONS requests without a password, for CORS preflight requests.',
  }),
  users: Type.Array(
    Type.Object(
      {
        username: Type.String({
          minLength: 1,
          maxLength: MAX_NAME,
          description: 'Name of the user, without a colon. Upper and lower case differ.',
        }),
        password: Type.Optional(
          secret(
            'hashed',
            Type.String({
              description: `Password of ${MIN_PASSWORD} to ${MAX_PASSWORD} characters. Only a hash is stored, and it always reads as "". When "" is sent, the user of this name keeps the password.`,
            }),
            'nowhere',
          ),
        ),
      },
      { additionalProperties: false },
    ),
    {
      default: [],
      maxItems: MAX_USERS,
      description: `The users who may enter, at most ${MAX_USERS}. Empty: nobody may, except programs with a token and guests with a link.`,
    },
  ),
  realm: Type.String({
    default: 'Restricted',
    minLength: 1,
    maxLength: 128,
    pattern: '^[\\x20-\\x7e]+$',
    description:
      'Name of the protected area, which some browsers show beside the question for the password: printable ASCII. Default: "Restricted".',
  }),
});

export type BasicAuthConfig = Static<typeof basicAuthConfig>;

/** Messages about passwords repeat nothing of them. */
export function checkUsers({ users }: BasicAuthConfig): readonly FieldProblem[] {
  const names = new Set<string>();
  return users.flatMap(({ username, password = '' }, at) => {
    const problems: FieldProblem[] = [];
    const name = sameName(username);
    if (name.includes(':') || !isCredentialText(name)) {
      const message = 'must have no colon, no control characters and no broken characters: RFC 7617 cannot send them';
      problems.push({ path: `/users/${at}/username`, message });
    }
    if (names.has(name)) problems.push({ path: `/users/${at}/username`, message: 'is in the list twice' });
    names.add(name);
    const { length } = Array.from(password.normalize('NFC'));
    if (password === '') return problems;
    if (length < MIN_PASSWORD || length > MAX_PASSWORD) {
      const message = `must have ${MIN_PASSWORD} to ${MAX_PASSWORD} characters`;
      problems.push({ path: `/users/${at}/password`, message });
    }
    if (!isCredentialText(password)) {
      const message = 'must have no control characters and no broken characters: RFC 7617 cannot send them';
      problems.push({ path: `/users/${at}/password`, message });
    }
    return problems;
  });
}

export function normalizeUsers(config: BasicAuthConfig): BasicAuthConfig {
  return { ...config, users: config.users.map(({ username, password = '' }) => ({ username, password })) };
}

/** Devices write the same letters in different forms (RFC 8265). */
export function sameName(username: string): string {
  return username.normalize('NFC');
}
