import { configurationSchema } from '../../src/configuration-file/json-schema.ts';

export const name = 'configuration-file';

const SCHEMA_PATH = 'src/configuration-file/generated/schema.json';

/** The JSON Schema of the configuration file. */
export function generate(): Promise<Map<string, string>> {
  return Promise.resolve(new Map([[SCHEMA_PATH, `${JSON.stringify(configurationSchema(), null, 1)}\n`]]));
}
