export interface Reference {
  readonly kinds: readonly string[];
  /** Field of the answer that has the reference, as `{id, uri}`. */
  readonly readAs?: string;
  /** The ids are the keys of the map. */
  readonly inKeys?: boolean;
}

/** The part of JSON Schema that the API's document uses. */
export interface JsonSchema {
  readonly $ref?: string;
  readonly type?: string;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
  readonly additionalProperties?: JsonSchema | boolean;
  readonly anyOf?: readonly JsonSchema[];
  readonly enum?: readonly (string | number)[];
  readonly default?: unknown;
  readonly description?: string;
  readonly examples?: readonly unknown[];
  readonly format?: string;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly 'x-reference'?: Reference;
  readonly 'x-secret'?: 'readable' | 'masked' | 'hashed';
}

export function canBeNull({ type, anyOf }: JsonSchema): boolean {
  const types: unknown = type;
  return Array.isArray(types) ? types.includes('null') : anyOf?.some((each) => each.type === 'null') === true;
}

/** "client_secret" → "Client secret", with the usual spelling of abbreviations. */
export function labelOf(name: string): string {
  const words = name
    .replaceAll('_', ' ')
    .replace(/\b(tls|ca|crl|ip|oidc|pem|uri|url|id|ids|os|acr|cidr)\b/g, (word) => {
      const upper = word.toUpperCase();
      return word === 'ids' ? 'IDs' : upper;
    });
  return words.charAt(0).toUpperCase() + words.slice(1);
}
