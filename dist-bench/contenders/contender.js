/** Blanks `"member":"123"`, for contenders with `blankDigits`. */
export function blanked(text) {
    return text.replace(/:"\d+"/g, ':""');
}
