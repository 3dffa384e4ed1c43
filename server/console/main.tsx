/** The console: what `holdfast serve` shows people in a browser (ADR 0073). */
import { render } from 'preact';
import { App } from './app';
import './console.css';
import './run/run.css';

const root = document.getElementById('app');
if (root !== null) render(<App />, root);
