import type { TSchema } from 'typebox';
import type { JsonObject } from '../json.ts';

/** A value as in YAML; text from flags and variables is converted to this form first. */
export type WireValue = string | number | boolean | readonly string[] | JsonObject;

/** The kind of a setting's value: its form in YAML, and the program's type. */
export interface SettingKind<Value> {
  /** The form in YAML, as far as JSON Schema can express it; `decode` checks the rest. */
  readonly schema: TSchema;
  /** The allowed values, phrased to follow "allowed:". */
  readonly allowed: string;
  /** Stands for a value in help: `HOST:PORT`. */
  readonly hint: string;
  /** Returns `undefined` to reject. Called with values that match the schema. */
  decode(wire: WireValue): Value | undefined;
  /** What is wrong with a rejected value, without repeating it: it follows the name of the setting in the message. */
  problem?(wire: unknown): string | null;
  encode(value: Value): WireValue;
}

/** `password`: only the password inside the value is secret, the rest may be shown. */
export type Secrecy = 'public' | 'secret' | 'password';

export interface SettingText {
  /** For the operator: what it does. The documentation and the comments of the defaults file are generated from it. */
  readonly description: string;
  readonly secrecy?: Secrecy;
  /** Set while nothing reads the value yet: the version from which it has an effect. */
  readonly usedFrom?: string;
}

export interface Setting<Value> extends Required<Omit<SettingText, 'usedFrom'>> {
  readonly kind: SettingKind<Value>;
  readonly usedFrom: string | null;
  readonly isOptional: boolean;
}

/** A setting that always has a value: the defaults file has one. */
export function required<Value>(kind: SettingKind<Value>, text: SettingText): Setting<Value> {
  return { kind, isOptional: false, secrecy: 'public', usedFrom: null, ...text };
}

/** A setting that may be unset, which is `null`. */
export function optional<Value>(kind: SettingKind<Value>, text: SettingText): Setting<Value | null> {
  // Only values made by `decode` reach `encode`: the holder of the configuration handles null.
  return { kind: kind as SettingKind<Value | null>, isOptional: true, secrecy: 'public', usedFrom: null, ...text };
}

/** The row of a module's setting, which includes its default: the defaults file is generated from it. */
export interface DeclaredSetting<Value> extends Setting<Value> {
  readonly default: WireValue;
  /** A warning of `postern doctor` for a value that works but allows more than may be intended. */
  risk?(value: Value): SettingRisk | null;
}

export interface SettingRisk {
  readonly message: string;
  readonly advice: string;
}

export function declared<Value>(
  kind: SettingKind<Value>,
  { default: value, risk, ...text }: SettingText & Pick<DeclaredSetting<Value>, 'default' | 'risk'>,
): DeclaredSetting<Value> {
  return { ...required(kind, text), default: value, ...(risk !== undefined && { risk }) };
}

/** By the name in the YAML file. Method parameters are bivariant: a row of any value fits. */
export type SettingRows = Readonly<Record<string, Setting<unknown>>>;
export type DeclaredSettings = Readonly<Record<string, DeclaredSetting<unknown>>>;

export type SettingValues<Rows extends SettingRows> = {
  readonly [Name in keyof Rows]: Rows[Name] extends Setting<infer Value> ? Value : never;
};

export function variableOf(name: string): string {
  return `POSTERN_${name.toUpperCase()}`;
}

/** Without its dashes. */
export function flagOf(name: string): string {
  return name.replaceAll('_', '-');
}
