import { Check } from 'typebox/value';
import { isJsonObject, parseUniqueJson } from '../../kit/json.ts';
import type { Setting, WireValue } from '../../kit/settings/setting.ts';
import { configErrors } from './errors.ts';
import { settingOf } from './schema.ts';

/** An empty value means unset, in every source. */
export function isUnset(raw: unknown): boolean {
  return raw === undefined || raw === null || raw === '';
}

/** Decodes `raw` for the setting. `source` names its origin in the message. */
export function decodeSetting(name: string, raw: unknown, source: string): unknown {
  const setting = settingOf(name);
  const wire = typeof raw === 'string' ? fromText(setting, raw) : raw;
  const value = Check(setting.kind.schema, wire) ? setting.kind.decode(wire as WireValue) : undefined;
  if (value !== undefined) return value;
  const problem = setting.kind.problem?.(wire) ?? null;
  if (problem !== null) {
    const details = { setting: name };
    throw configErrors.create('ERR_POSTERN_CONFIG_VALUE', `${name} (${source}): ${problem}`, { details });
  }
  const shown = setting.secrecy === 'public' ? ` is ${describe(raw)}` : ' has an invalid value';
  const message = `${name} (${source})${shown}; allowed: ${setting.kind.allowed}`;
  throw configErrors.create('ERR_POSTERN_CONFIG_VALUE', message, { details: { setting: name } });
}

/** Flags and variables are text; the schema determines how the text is parsed. */
function fromText(setting: Setting<unknown>, text: string): unknown {
  const { type } = setting.kind.schema as { type?: string };
  if (type === 'integer' && /^\d{1,15}$/.test(text)) return Number(text);
  if (type === 'number' && /^\d{1,15}(?:\.\d{1,15})?$/.test(text)) return Number(text);
  if (type === 'boolean' && /^(true|false)$/.test(text)) return text === 'true';
  if (type === 'object') return mapOf(text);
  if (type === 'array') {
    return text
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item !== '');
  }
  return text;
}

/** A map has the form of JSON here; anything else is left for the schema to reject. */
function mapOf(text: string): unknown {
  try {
    return parseUniqueJson(text);
  } catch {
    return text;
  }
}

function describe(raw: unknown): string {
  if (Array.isArray(raw)) return `a list (${JSON.stringify(raw).slice(0, 80)})`;
  if (isJsonObject(raw)) return 'a map';
  const text = JSON.stringify(raw) ?? String(raw);
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
