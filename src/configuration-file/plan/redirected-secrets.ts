import type { TObject } from 'typebox';
import { isJsonObject, type JsonObject } from '../../lib/json.ts';
import { secretSentTo } from '../../lib/schema/annotations.ts';
import { pointerTo } from '../../lib/schema/field-problem.ts';
import { isObjectSchema, secretVisibility } from '../../lib/schema/schema-facts.ts';
import { SECRET_FORMS } from '../../lib/secret-reference.ts';
import { shownPath } from '../check-config.ts';
import type { StoredForm } from '../stored-form.ts';
import type { WantedForm } from './field-changes.ts';

/**
 * Problems of secrets that the files do not give while their destination changes. The server rejects this for secrets
 * that the key cannot read (`keepUnseenSecrets`). A plan must not send back one that it could read: otherwise who
 * writes the files has a secret sent to a server of their own.
 */
export function redirectedSecrets(
  schema: TObject,
  wanted: WantedForm,
  present: StoredForm,
  within: readonly string[] = [],
): readonly string[] {
  return redirected(schema, { wanted, before: present.config, after: wanted.config, present, at: '' }).map(
    ({ pointer, destination }) => {
      const [field, changed] = [pointer, destination].map((each) => [...within, ...shownPath(schema, each)].join('.'));
      return `${field} must be given again, because ${changed} changes and the secret would be sent there: write ${SECRET_FORMS} and provide the value, or "" for none`;
    },
  );
}

interface Level {
  readonly wanted: WantedForm;
  readonly present: StoredForm;
  readonly before: JsonObject;
  readonly after: JsonObject;
  readonly at: string;
}

interface Redirected {
  readonly pointer: string;
  readonly destination: string;
}

function redirected(schema: TObject, level: Level): readonly Redirected[] {
  const { wanted, present, before, after, at } = level;
  return Object.entries(schema.properties).flatMap(([name, field]): readonly Redirected[] => {
    const pointer = pointerTo(at, name);
    if (secretVisibility(field) === undefined) {
      const [inner, next] = [before[name], after[name]];
      if (!isObjectSchema(field) || !isJsonObject(inner) || !isJsonObject(next)) return [];
      return redirected(field, { ...level, before: inner, after: next, at: pointer });
    }
    const sentTo = secretSentTo(field);
    if (typeof sentTo !== 'object' || wanted.secrets.has(pointer)) return [];
    const isSet = (present.secrets.get(pointer)?.state ?? 'unset') !== 'unset';
    const isMoved = before[sentTo.field] !== after[sentTo.field];
    return isSet && isMoved ? [{ pointer, destination: pointerTo(at, sentTo.field) }] : [];
  });
}
