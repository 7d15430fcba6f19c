import { isJsonObject, type JsonObject } from '../../lib/json.ts';
import { fileObject } from '../api/file-object.ts';
import type { AccessCall } from './access-command.ts';

/** The configuration in the file of `--from-file`: that of the module, or a route with it. Null without the flag. */
export async function proposedRules({ flags, source }: AccessCall): Promise<JsonObject | null> {
  const file = flags.get('from-file');
  if (file === undefined) return null;
  const read = await fileObject(file, source);
  const { access } = read;
  return isJsonObject(access) ? access : read;
}
