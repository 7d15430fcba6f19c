export interface ParserProblem {
  readonly reason: 'malformed' | 'headers_too_large';
  readonly message: string;
}
