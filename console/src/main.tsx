import { render } from 'preact';

const place = document.getElementById('console');
if (place !== null) render(<h1>Postern</h1>, place);
