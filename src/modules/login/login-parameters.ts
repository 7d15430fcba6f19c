/** What a route asks of the provider at each login, beyond scopes. */
export type LoginParameters = {
  /** Such as `login`, to show the login form even if the provider knows the browser; '' asks for nothing. */
  readonly prompt: string;
  /** Seconds since the user last entered credentials; 0 asks for nothing. */
  readonly max_age: number;
  readonly acr_values: readonly string[];
  /** Google's: `offline` asks for a refresh token; '' asks for nothing. */
  readonly access_type: string;
};

/** Null when nothing is asked for. */
export function askedParameters(parameters: LoginParameters): LoginParameters | null {
  const { prompt, max_age: maxAge, acr_values: acrValues, access_type: accessType } = parameters;
  return prompt === '' && maxAge === 0 && acrValues.length === 0 && accessType === '' ? null : parameters;
}

/** Whether a login that asked for `made` satisfies a route that asks for `wanted`. */
export function isAskedFor(wanted: LoginParameters, made: LoginParameters | null): boolean {
  if (wanted.prompt !== '' && wanted.prompt !== made?.prompt) return false;
  const madeAge = made?.max_age ?? 0;
  if (wanted.max_age !== 0 && (madeAge === 0 || madeAge > wanted.max_age)) return false;
  return wanted.acr_values.length === 0 || String(wanted.acr_values) === String(made?.acr_values);
}
