/** A request that the inspector rejects, with the reason. `inspector-server.ts` renders it as JSON. */
export class InspectorRefusal extends Error {
  readonly status: number;
  /** Stable code. */
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
