import Type from 'typebox';

const WORD = '^[\\x21\\x23-\\x5B\\x5D-\\x7E]+$';

/** OpenID Connect Core 1.0 §3.1.2.1, and one of Google's. */
export const loginParameters = Type.Object(
  {
    prompt: Type.String({
      default: '',
      maxLength: 64,
      pattern: '^(login|consent|select_account)( (login|consent|select_account)){0,2}$',
      description:
        'What the provider shows even if it knows the browser: "login", "consent", "select_account", or several of them separated by spaces. "": the provider decides.',
    }),
    max_age: Type.Integer({
      default: 0,
      minimum: 0,
      maximum: 4_294_967_295,
      description:
        'The person must have entered their credentials at most this many seconds before the login, which the ID token must confirm ("auth_time"). 0: at any time.',
    }),
    acr_values: Type.Array(Type.String({ minLength: 1, maxLength: 256, pattern: WORD }), {
      default: [],
      maxItems: 10,
      description:
        'Authentication methods to ask for, the preferred one first. The provider may use another one and names it in the claim "acr".',
    }),
    access_type: Type.String({
      default: '',
      maxLength: 16,
      pattern: '^(online|offline)$',
      description: 'For Google: "offline" asks for a refresh token. "": not sent.',
    }),
  },
  {
    // Absent unless it is sent: the interface's table of fields does not have it.
    default: undefined,
    description:
      'Parameters of the login request. A login that did not ask for them does not count on this route: the person logs in again.',
  },
);
