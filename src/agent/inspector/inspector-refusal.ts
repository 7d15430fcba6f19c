/** What the inspector does not do, and why: rendered as JSON by `inspector-server.ts`. */
export class InspectorRefusal extends Error {
  readonly status: number;
  /** Stable word for it. */
  readonly error: string;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, error: string, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.name = 'InspectorRefusal';
    this.status = status;
    this.error = error;
    this.headers = headers;
  }
}
