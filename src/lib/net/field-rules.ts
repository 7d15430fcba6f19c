import { cidrProblem } from './cidr.ts';

/** Returns the problem with a text, phrased to follow its name, or null. `unreadable` words the case that nothing of it fits. */
export type FieldRule = (text: string, unreadable?: string) => string | null;

/** Rules that a schema cannot express, by the name that a form gives them. The server and the agent apply the same ones. */
export const FIELD_RULES: Readonly<Record<'cidr', FieldRule>> = { cidr: cidrProblem };
