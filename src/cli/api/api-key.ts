import type { Config } from '../../config/schema.ts';

export interface ApiKey {
  readonly key: string;
  /** Where it came from, for messages. */
  readonly source: string;
  /** For a token that ends while a command runs. Null: there is no other one. */
  readonly renew?: () => Promise<readonly string[]>;
}

/** The key that the settings of a server give it; null: they name none. */
export function presetKey({ api_key: key }: Pick<Config, 'api_key'>): ApiKey | null {
  return key === null ? null : { key, source: 'the setting api_key' };
}
