import { isJsonObject, type JsonValue } from '../../../lib/json.ts';
import { isUnset } from '../import-report.ts';

/** `name:password`, with a password that the server accepts. */
const CREDENTIALS = /^[^:\p{Cc}]{1,128}:[^\p{Cc}]{8,128}$/u;
const MAX_USERS = 20;

/** The value of `basic_auth` for Postern's agent; null when not all of it can be carried over. Texts may be one or several. */
export function carriedPasswords(value: JsonValue): readonly string[] | null {
  const texts = Array.isArray(value) ? value : [value];
  const areAll = texts.every((text) => typeof text === 'string' && CREDENTIALS.test(text));
  return areAll && texts.length > 0 && texts.length <= MAX_USERS ? (texts as readonly string[]) : null;
}

/** The passwords of a traffic policy that does nothing but ask for them, for every request; null for any other. */
export function policyPasswords(policy: JsonValue): readonly string[] | null {
  const rules = onlyField(policy, 'on_http_request');
  const actions = onlyField(onlyItem(rules), 'actions');
  const action = onlyItem(actions);
  if (!isJsonObject(action)) return null;
  const { type, config, ...others } = action;
  if (type !== 'basic-auth' || !isJsonObject(config) || !isUnset(others)) return null;
  const { credentials = null, realm: _, enforce = true, ...rest } = config;
  return enforce === true && isUnset(rest) ? carriedPasswords(credentials) : null;
}

function onlyField(value: JsonValue | null, name: string): JsonValue | null {
  if (!isJsonObject(value)) return null;
  const { [name]: found = null, ...others } = value;
  return isUnset(others) ? found : null;
}

function onlyItem(value: JsonValue | null): JsonValue | null {
  return Array.isArray(value) && value.length === 1 ? (value[0] as JsonValue) : null;
}
