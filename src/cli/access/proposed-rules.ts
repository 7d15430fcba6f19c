import { usage } from '../../lib/flags.ts';
import { isJsonObject, type JsonObject } from '../../lib/json.ts';
import type { AccessCall } from './access-command.ts';

/** The configuration in the file of `--from-file`: that of the module, or a route with it. Null without the flag. */
export async function proposedRules({ flags, source }: AccessCall): Promise<JsonObject | null> {
  const file = flags.get('from-file');
  if (file === undefined) return null;
  const read = await parsed(await source.read(file, 'from-file'));
  if (!isJsonObject(read)) throw usage('--from-file: the file must contain an object, the access module');
  const { access } = read;
  return isJsonObject(access) ? access : read;
}

async function parsed(text: string): Promise<unknown> {
  const { parseYaml } = await import('../api/parse-yaml.ts');
  try {
    // JSON is YAML.
    return parseYaml(text);
  } catch {
    throw usage('--from-file: the file is neither JSON nor YAML');
  }
}
