"""The human evaluation (JMLR 5.2.3, Appendix A): what raters are shown, the page, their answers, the statistics."""
